#!/bin/sh
# Runs a command once a person, or a rule, has allowed it: ask.sh 'make deploy'
command=$1

if answer=$(countersign ask --agent my-agent --session "my-agent $$" -- "$command"); then
    exec bash -c "$command"
fi
echo "not run: $answer"
exit 1
