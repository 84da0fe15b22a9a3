//! The options of programs, as their `getopt_long` has them; the tests compare them with the
//! programs of the machine.

use crate::facts::programs::Words;
use crate::facts::programs::getopt::Getopt;

const fn getopt(shorts: &'static str, longs: Words) -> Getopt {
    Getopt { shorts, longs }
}

// Wrappers.
pub(super) const ENV: Getopt = getopt(
    "ia:u:vC:S:0",
    "argv0= ignore-environment null unset= chdir= default-signal? ignore-signal? block-signal? \
     list-signal-handling debug split-string= help version",
);
pub(super) const TIMEOUT: Getopt =
    getopt("fk:ps:v", "kill-after= signal= verbose foreground preserve-status help version");
pub(super) const NICE: Getopt =
    getopt("n:0::1::2::3::4::5::6::7::8::9::", "adjustment= help version");
pub(super) const NOHUP: Getopt = getopt("", "help version");
pub(super) const SETSID: Getopt = getopt("cfhwV", "ctty fork wait version help");
pub(super) const STDBUF: Getopt = getopt("e:i:o:", "input= output= error= help version");
pub(super) const IONICE: Getopt =
    getopt("c:hn:p:tu:P:V", "classdata= class= help ignore pid= pgid= uid= version");
pub(super) const TIME: Getopt =
    getopt("af:o:pqvV", "append format= help output-file= portability quiet verbose version");
// The last three letters are those of BSD.
pub(super) const XARGS: Getopt = getopt(
    "a:d:e::i::l::n:oprs:txE:I:L:P:0J:R:S:",
    "null arg-file= delimiter= eof? replace? max-lines? max-args= open-tty interactive \
     no-run-if-empty max-chars= verbose show-limits exit max-procs= process-slot-var= version help",
);
// Builtins of shells.
pub(super) const PLAIN: Getopt = getopt("", "");
pub(super) const COMMAND: Getopt = getopt("pvV", "");
pub(super) const EXEC: Getopt = getopt("cla:", "");
pub(super) const SUDO: Getopt = getopt(
    "Aa:BbC:c:D:EeHh:iKklNnPp:R:r:SsT:t:U:u:g:Vv",
    "askpass auth-type= background bell close-from= login-class= chdir= preserve-env? edit group= \
     set-home help host= login remove-timestamp reset-timestamp list no-update non-interactive \
     preserve-groups prompt= chroot= role= stdin shell type= command-timeout= other-user= user= \
     version validate",
);
pub(super) const DOAS: Getopt = getopt("a:C:Lnsu:", "");

// Programs that write or run.
pub(super) const SORT: Getopt = getopt(
    "bcdfghik:mno:rst:uy::zCMRS:T:V",
    "ignore-leading-blanks check? compress-program= debug dictionary-order ignore-case \
     files0-from= general-numeric-sort ignore-nonprinting key= merge month-sort numeric-sort \
     human-numeric-sort version-sort random-sort random-source= sort= output= reverse stable \
     batch-size= buffer-size= field-separator= temporary-directory= unique zero-terminated \
     parallel= help version",
);
pub(super) const SPLIT: Getopt = getopt(
    "a:b:del:n:t:uxC:0123456789",
    "bytes= lines= line-bytes= number= elide-empty-files unbuffered suffix-length= \
     additional-suffix= numeric-suffixes? hex-suffixes? filter= verbose separator= -io-blksize= \
     help version",
);
pub(super) const CSPLIT: Getopt = getopt(
    "b:f:kn:qsz",
    "digits= quiet|silent keep-files elide-empty-files prefix= suffix-format= suppress-matched \
     help version",
);
pub(super) const SHUF: Getopt = getopt(
    "ei:n:o:rz",
    "echo input-range= head-count= output= random-source= repeat zero-terminated help version",
);
pub(super) const UNIQ: Getopt = getopt(
    "cdf:is:uw:zD0123456789",
    "count repeated all-repeated? group? ignore-case unique skip-fields= skip-chars= \
     check-chars= zero-terminated help version",
);
pub(super) const WC: Getopt = getopt(
    "clmwL",
    "bytes chars lines words debug files0-from= max-line-length total= help version",
);
pub(super) const BASE: Getopt = getopt("diw:", "decode wrap= ignore-garbage help version");
pub(super) const SED: Getopt = getopt(
    "be:f:i::l:nrsuzEV:",
    "binary regexp-extended debug expression= file= in-place? line-length= \
     null-data|zero-terminated quiet|silent posix sandbox separate unbuffered version help \
     follow-symlinks",
);
pub(super) const GREP: Getopt = getopt(
    "abcd:e:f:hilm:noqrsuvwxyzA:B:C:D:EFGHILPRTUVX:Z0123456789",
    "basic-regexp extended-regexp fixed-regexp|fixed-strings perl-regexp after-context= \
     before-context= binary-files= byte-offset context= color|colour? count devices= directories= \
     exclude= exclude-from= exclude-dir= file= files-with-matches files-without-match \
     group-separator= help include= ignore-case no-ignore-case initial-tab label= line-buffered \
     line-number line-regexp max-count= no-filename no-group-separator no-messages null null-data \
     only-matching quiet|silent recursive dereference-recursive regexp= invert-match text binary \
     unix-byte-offsets version with-filename word-regexp",
);
pub(super) const DATE: Getopt = getopt(
    "d:f:r:s:uI::R",
    "date= debug file= iso-8601? reference= resolution rfc-email|rfc-822|rfc-2822 rfc-3339= set= \
     uct|utc|universal help version",
);
pub(super) const DU: Getopt = getopt(
    "abcd:hklmst:xB:DHLPSX:0",
    "all apparent-size block-size= bytes count-links dereference dereference-args exclude= \
     exclude-from= files0-from= human-readable inodes si max-depth= null no-dereference \
     one-file-system separate-dirs summarize total threshold= time? time-style= help version",
);
pub(super) const FILE: Getopt = getopt(
    "bcde:f:hiklm:nprsvzCEF:LNP:SZ0",
    "help version magic-file= uncompress uncompress-noreport brief checking-printout exclude= \
     exclude-quiet= files-from= separator= mime apple extension mime-type mime-encoding keep-going \
     list dereference no-dereference no-buffer no-pad print0 preserve-date parameter= raw \
     special-files no-sandbox compile debug",
);

// Programs that change files.
pub(super) const CP: Getopt = getopt(
    "abdfilnprst:uvxHLPRS:TZ",
    "archive attributes-only backup? copy-contents debug dereference force interactive link \
     no-clobber no-dereference no-preserve= no-target-directory one-file-system parents|path \
     preserve? recursive remove-destination sparse= reflink? strip-trailing-slashes suffix= \
     symbolic-link target-directory= update? verbose keep-directory-symlink context? help version",
);
pub(super) const MV: Getopt = getopt(
    "bfint:uvS:TZ",
    "backup? context debug exchange force interactive no-clobber no-copy no-target-directory \
     strip-trailing-slashes suffix= target-directory= update? verbose help version",
);
pub(super) const INSTALL: Getopt = getopt(
    "bcdg:m:o:pst:vCDS:TZ",
    "backup? compare context? debug directory group= mode= no-target-directory owner= \
     preserve-timestamps preserve-context strip strip-program= suffix= target-directory= verbose \
     help version",
);
pub(super) const LN: Getopt = getopt(
    "bdfinrst:vFLPS:T",
    "backup? directory no-dereference no-target-directory force interactive suffix= \
     target-directory= logical physical relative symbolic verbose help version",
);
pub(super) const MKDIR: Getopt = getopt("m:pvZ", "context? mode= parents verbose help version");
pub(super) const TOUCH: Getopt =
    getopt("acd:fhmr:t:", "time= no-create date= reference= no-dereference help version");
pub(super) const TRUNCATE: Getopt =
    getopt("cor:s:", "no-create io-blocks reference= size= help version");
pub(super) const TEE: Getopt = getopt("aip", "append ignore-interrupts output-error? help version");
pub(super) const CHMOD: Getopt = getopt(
    "a::cfg::ho::r::s::t::u::vw::x::HLPRX::0::1::2::3::4::5::6::7::",
    "changes dereference recursive no-dereference no-preserve-root preserve-root quiet|silent \
     reference= verbose help version",
);
pub(super) const CHOWN: Getopt = getopt(
    "cfhvHLPR",
    "recursive changes dereference from= no-dereference no-preserve-root preserve-root \
     quiet|silent reference= verbose help version",
);
pub(super) const RM: Getopt = getopt(
    "dfirvIR",
    "force interactive? one-file-system no-preserve-root preserve-root? -presume-input-tty \
     recursive dir verbose help version",
);
pub(super) const RMDIR: Getopt =
    getopt("pv", "ignore-fail-on-non-empty path|parents verbose help version");
pub(super) const SHRED: Getopt = getopt(
    "fn:s:uvxz",
    "exact force iterations= size= random-source= remove? verbose zero help version",
);
pub(super) const PATCH: Getopt = getopt(
    "bcd:efg:i:lmno:p:r:stuvx:z:B:D:EF:NRTV:Y:Z",
    "backup prefix= context directory= ifdef= ed remove-empty-files force fuzz= get= input= \
     ignore-whitespace merge? normal forward output= strip= reject-file= reverse quiet|silent \
     batch set-time unified version version-control= debug= basename-prefix= suffix= set-utc \
     dry-run verbose binary help backup-if-mismatch no-backup-if-mismatch posix quoting-style= \
     reject-format= read-only= follow-symlinks",
);
pub(super) const TAR: Getopt = getopt(
    "!ab:cdf:g:hijklmnoprstuvwxzABC:F:GH:I:JK:L:MN:OPRST:UV:WX:Z0123456789",
    "list extract get create diff compare append update catenate concatenate delete test-label \
     sparse hole-detection= sparse-version= incremental listed-incremental= level= \
     ignore-failed-read occurrence? seek no-seek no-check-device check-device verify remove-files \
     keep-old-files skip-old-files keep-newer-files overwrite unlink-first recursive-unlink \
     no-overwrite-dir overwrite-dir keep-directory-symlink one-top-level? to-stdout to-command= \
     ignore-command-error no-ignore-command-error owner= group= owner-map= group-map= mtime= \
     clamp-mtime mode= atime-preserve? touch same-owner no-same-owner numeric-owner \
     preserve-permissions same-permissions no-same-permissions preserve-order same-order \
     delay-directory-restore no-delay-directory-restore sort= xattrs no-xattrs xattrs-include= \
     xattrs-exclude= selinux no-selinux acls no-acls file= force-local rmt-command= rsh-command= \
     multi-volume tape-length= info-script= new-volume-script= volno-file= blocking-factor= \
     record-size= ignore-zeros read-full-records format= old-archive portability posix \
     pax-option= label= auto-compress no-auto-compress use-compress-program= bzip2 gzip gunzip \
     ungzip compress uncompress lzip lzma lzop xz zstd one-file-system absolute-names dereference \
     hard-dereference starting-file= newer= after-date= newer-mtime= backup? suffix= \
     strip-components= transform= xform= checkpoint? checkpoint-action= check-links totals? utc \
     full-time index-file= block-number show-defaults show-snapshot-field-ranges \
     show-omitted-dirs show-transformed-names show-stored-names quoting-style= quote-chars= \
     no-quote-chars= interactive confirmation verbose warning= restrict add-file= directory= \
     files-from= null no-null unquote no-unquote verbatim-files-from no-verbatim-files-from \
     exclude= exclude-from= exclude-caches exclude-caches-under exclude-caches-all exclude-tag= \
     exclude-ignore= exclude-ignore-recursive= exclude-tag-under= exclude-tag-all= exclude-vcs \
     exclude-vcs-ignores exclude-backups recursion no-recursion anchored no-anchored ignore-case \
     no-ignore-case wildcards no-wildcards wildcards-match-slash no-wildcards-match-slash help \
     usage program-name= version",
);
