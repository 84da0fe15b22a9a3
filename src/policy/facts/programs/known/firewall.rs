//! Interfaces, routes and packet filters of the machine.

use crate::facts::programs::case::{Case, case, critical};
use crate::facts::programs::description::Program;
use crate::facts::programs::grant::AlwaysRule;
use crate::facts::programs::reading::{Operands, form, reading};
use crate::facts::programs::when::{
    When::{Always, Any, Bare, Has, Not, Nth},
    options,
};
use crate::facts::programs::words::Words;

pub(crate) static ALL: &[Program] = &[
    Program::named("ip")
        .reads(&[
            form("addr", "", "", &[], Operands::None),
            form("addr show", "", "", &[], Operands::Literals),
            form("a", "", "", &[], Operands::None),
            form("link", "", "", &[], Operands::None),
            form("link show", "", "", &[], Operands::Literals),
            form("route", "", "", &[], Operands::None),
            form("route show", "", "", &[], Operands::Literals),
        ])
        .beyond(&[CHANGES_THE_NETWORK])
        .grant(AlwaysRule::words(2).three("addr link netns route")),
    Program::named("route ifconfig nmcli firewall-cmd").beyond(&[CHANGES_THE_NETWORK]),
    Program::named("ss").reads(&[reading("abfilmopStuxan46", "", &[], Operands::None)]),
    Program::named("iptables ip6tables").beyond(&[CHANGES_THE_NETWORK]).critical(&[critical(
        Any(&[Has("-F -X -P"), options("--flush --policy --delete-chain", "", "")]),
        GUARD,
    )]),
    Program::named("nft")
        .beyond(&[CHANGES_THE_NETWORK])
        .critical(&[critical(Nth(0, "flush delete"), GUARD)]),
    Program::named("ufw")
        .beyond(&[CHANGES_THE_NETWORK])
        .critical(&[critical(Nth(0, "disable reset"), GUARD)])
        .grant(AlwaysRule::words(2)),
    Program::named("setenforce").critical(&[critical(Nth(0, "0 Permissive permissive"), GUARD)]),
    Program::named("csrutil spctl").critical(&[critical(
        Any(&[Nth(0, "disable"), Has("--master-disable --global-disable")]),
        GUARD,
    )]),
    Program::named("aa-disable aa-teardown").critical(&[critical(Always, GUARD)]),
    Program::named("auditctl").critical(&[critical(Has("-D -e"), GUARD)]),
];

// `ip addr` shows and `ip addr add` changes, so a changing word counts beside a showing one.
const CHANGES_THE_NETWORK: Case = case(
    Any(&[Not(&Any(&[Has(NETWORK_LOOKS), Bare])), Has("add del set flush exec -b -batch")]),
    "it changes the network",
);
const GUARD: &str = "switches a guard of the machine off";
const NETWORK_LOOKS: Words = "status show list -L -S a addr r link -n ls";
