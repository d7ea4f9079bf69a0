"""Folders of the parties of a collection."""

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        name="private-key-published",
        harm="The public values of a party hold its private key.",
        target="shuffledp.collect.deployment.parties:Deployment._create_party",
        pattern="pair.public",
        replacement="pair.private_bytes.hex()",
        tests=("tests/collect/test_deployment.py::test_no_folder_has_a_secret_of_another_party",),
    ),
    Mutant(
        name="task-with-a-strange-key-accepted",
        harm="The creator of a task names a key of their own for another party, and opens its layer.",
        target="shuffledp.collect.deployment.parties:Chain.check_task",
        pattern='("address", "key")',
        replacement='("address",)',
        tests=("tests/collect/test_deployment.py::test_a_task_with_another_key_is_refused",),
    ),
    Mutant(
        name="token-of-the-wrong-party",
        harm="The first shuffler gives its batches to the analyzer, so the second shuffler can be skipped.",
        target="shuffledp.collect.deployment.joining:_configure",
        pattern="chain.parties[party.position + 1]",
        replacement="chain.parties[-1]",
        tests=("tests/collect/test_deployment.py::test_batches_are_given_to_the_next_party_only",),
    ),
    Mutant(
        name="own-values-changed-on-their-way",
        harm="Reports go to an attacker's server, or an attacker fetches the batches of a shuffler.",
        target="shuffledp.collect.deployment.joining:_check_own_values",
        pattern='("shufflers", "address", "key", "token_sha256")',
        replacement='("key",)',
        tests=(
            "tests/collect/test_deployment.py::test_the_own_public_values_must_arrive_unchanged",
            "tests/collect/test_deployment.py::test_wrong_public_values_are_refused",
        ),
    ),
    Mutant(
        name="fingerprint-of-the-key-only",
        harm="Organisations that compare fingerprints do not see that an address or a token was replaced.",
        target="shuffledp.collect.deployment.parties:Party.fingerprint",
        pattern="msgspec.json.encode(self)",
        replacement="self.key.encode()",
        tests=("tests/collect/test_deployment.py::test_fingerprints_are_of_all_public_values",),
    ),
    Mutant(
        name="address-of-another-party-unquoted",
        harm="A party's address is a command that another party runs on the machine with its private key.",
        target="shuffledp.cli.deploy:task_command",
        pattern="shlex.quote(f'{place.address}={place.key}')",
        replacement="f'{place.address}={place.key}'",
        tests=("tests/cli/test_deploy.py::test_the_command_for_a_task_quotes_what_other_parties_gave",),
    ),
    Mutant(
        name="text-around-brackets-accepted",
        harm="The address of a server adds rules to the content security policy of the survey page.",
        target="shuffledp.collect.task.servers:check_address",
        pattern="not _NETLOC.fullmatch(parts.netloc)",
        replacement="False",
        tests=("tests/collect/web/survey/test_page.py::test_servers_of_the_task_stand_in_the_policy",),
    ),
)
