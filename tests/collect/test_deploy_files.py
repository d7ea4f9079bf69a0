"""deploy/: the compose file, the image, the proxy and the units use exactly what `shuffledp deploy init` creates.

They are parsed and cross-checked here. tests/collect/test_deployment.py starts the same servers from the same
configuration files, without containers.
"""

import configparser
import fnmatch
import json
import re
import shlex
import shutil
import subprocess
from functools import partial
from pathlib import Path, PurePosixPath

import pytest
import yaml

from shuffledp.cli.servers import read_config
from shuffledp.collect.client.transport import settings
from shuffledp.collect.reaching import certificates
from shuffledp.collect.server.upstream import Upstream
from shuffledp.collect.task.task import LONGEST_REPORT
from shuffledp.collect.web.status import new_client
from shuffledp.errors import ParameterError
from tests.cli.commands import command
from tests.collect.test_pages import check_options, command_of, routes_of_servers

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
ORGANISATIONS = ("shuffler-1", "shuffler-2", "analyzer")
INSIDE = ("/health", "/metrics", "/v1/admin/*")
"""What a proxy does not forward."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folders of two shufflers with PostgreSQL and an analyzer, with public addresses."""
    folder = tmp_path_factory.mktemp("deploy") / "collection"
    addresses = ["--address", "https://mix1.example.org", "--address", "https://mix2.example.net:8443"]
    result = command(
        *("deploy", "init", folder, "--shufflers", 2, *addresses, "--analyzer-address", "https://count.example.com"),
        *("--question", "Tea or coffee?", "--domain", "tea,coffee", "--users", 20, "--epsilon", 4, "--delta", "1e-3"),
        *("--admission", "tokens", "--page"),
    )
    assert result.returncode == 0, result.stderr
    return folder


COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
SERVERS = {name: each for name, each in SERVICES.items() if each["image"] == "shuffledp"}
PROXIES = {name: each for name, each in SERVICES.items() if each["image"].startswith("caddy")}


def organisation(service):
    """The organisation of a service, by its profile."""
    (profile,) = SERVICES[service]["profiles"]
    return profile.replace("database", "shuffler")


def variables(folder, party):
    return dict(line.split("=", 1) for line in (folder / party / ".env").read_text().splitlines())


def mounts(service):
    """Paths in the container with the path or volume outside, and whether they are writable."""
    for text in SERVICES[service].get("volumes", []):
        outside, inside, *mode = text.split(":")
        yield PurePosixPath(inside), outside, mode != ["ro"]


def outside_path(service, inside):
    """The path beside the compose file of a path in a container, and whether it is writable; None if not mounted."""
    for target, outside, writable in mounts(service):
        if PurePosixPath(inside).is_relative_to(target):
            return PurePosixPath(outside) / PurePosixPath(inside).relative_to(target), writable
    return None


def test_there_are_two_shufflers_databases_an_analyzer_and_a_proxy_for_each_server():
    assert set(SERVERS) == set(ORGANISATIONS)
    assert {organisation(name) for name in PROXIES} == set(ORGANISATIONS)
    databases = [name for name, each in SERVICES.items() if each["image"].startswith("postgres")]
    assert {organisation(name) for name in databases} == {"shuffler-1", "shuffler-2"}
    assert len(SERVICES) == 8


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_limited_and_has_a_health_check(name):
    each = SERVICES[name]
    assert each["healthcheck"]["test"][0] == "CMD"
    assert each["read_only"] is True
    assert each["security_opt"] == ["no-new-privileges:true"]
    assert each["ulimits"] == {"core": 0}
    if name in SERVERS:
        assert each["user"] == "1000:1000"
        assert each["cap_drop"] == ["ALL"]
        check_options(each["healthcheck"]["test"][2:])


def test_organisations_share_nothing():
    """They share no profile, volume, network, secret or dependency."""
    held = {party: set() for party in ORGANISATIONS}
    for name, each in SERVICES.items():
        own = held[organisation(name)]
        own |= {outside for _, outside, _ in mounts(name) if outside != "./Caddyfile"}
        own |= set(each["networks"]) | {secret["source"] for secret in each.get("secrets", [])}
        assert {organisation(other) for other in each.get("depends_on", [])} <= {organisation(name)}
    everything = [thing for own in held.values() for thing in own]
    assert len(everything) == len(set(everything))
    assert all(held.values())


@pytest.mark.parametrize("party", ORGANISATIONS)
def test_the_variables_of_a_party_select_and_name_its_services(made, party):
    own = variables(made, party)
    selected = own.pop("COMPOSE_PROFILES").split(",")
    of_party = {name for name in SERVICES if organisation(name) == party}
    assert {name for name, each in SERVICES.items() if set(each["profiles"]) & set(selected)} == of_party
    used = re.findall(r"\$\{(\w+)", json.dumps([SERVICES[name] for name in of_party]))
    prefix = party.upper().replace("-", "_")
    assert set(used) == {*own, f"{prefix}_TLS", f"{prefix}_SSL_CERT_FILE"}
    ports = {"shuffler-1": "443", "shuffler-2": "8443", "analyzer": "443"}
    assert own[f"{prefix}_PORT"] == ports[party]


@pytest.mark.parametrize("party", ORGANISATIONS)
def test_a_private_certificate_authority_needs_no_other_compose_file(made, party):
    """Variables of .env, for a certificate in the folder `tls`, and for an authority in the folder `server`."""
    prefix = party.upper().replace("-", "_")
    proxy = f"proxy-{party.removeprefix('shuffler-')}"
    assert SERVICES[party]["environment"]["SSL_CERT_FILE"] == f"${{{prefix}_SSL_CERT_FILE:-}}"
    assert SERVICES[proxy]["environment"]["TLS"] == f"${{{prefix}_TLS:-}}"
    (line,) = re.findall(r"^SHUFFLER_1_TLS=(.*)$", PAGE.read_text(), flags=re.M)
    (authority,) = re.findall(r"^SHUFFLER_1_SSL_CERT_FILE=(.*)$", PAGE.read_text(), flags=re.M)
    assert outside_path(party, authority) == (PurePosixPath(f"{party}/server/authority.pem"), False)
    for file in line.removeprefix("tls ").split():
        found, writable = outside_path(proxy, file)
        assert (made / found).parent.is_dir()
        assert not writable


def test_no_authority_is_the_usual_authorities(monkeypatch):
    """The compose file sets the variable to nothing unless .env has one."""
    monkeypatch.setenv("SSL_CERT_FILE", "")
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    assert len(certificates.__wrapped__().get_ca_certs()) > 10


@pytest.mark.parametrize(
    ("name", "reason"), [("gone.pem", "No such file"), (".", "Is a directory"), ("a.pem", "no valid")]
)
def test_an_authority_that_cannot_be_read_is_named(tmp_path, monkeypatch, name, reason):
    """By every command and server that sends requests."""
    (tmp_path / "a.pem").write_text("nothing")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / name))
    certificates.cache_clear()
    for use in (certificates, new_client, partial(Upstream, "https://a.example.org", "token"), partial(settings, 1)):
        with pytest.raises(ParameterError, match=f"SSL_CERT_FILE must be a readable file .*{reason}"):
            use()
    result = command("health", "https://127.0.0.1:9")
    assert result.returncode == 2
    assert "SSL_CERT_FILE" in result.stderr


@pytest.mark.parametrize(
    ("address", "site", "port"),
    [("https://[::1]:8443", "[::1]", "8443"), ("https://a.example.org/", "a.example.org", "443")],
)
def test_the_site_of_the_proxy(tmp_path, address, site, port):
    command("deploy", "init", tmp_path / "ours", "--only", "analyzer", "--address", address)
    own = variables(tmp_path / "ours", "analyzer")
    assert (own["ANALYZER_SITE"], own["ANALYZER_PORT"]) == (site, port)


def test_every_mounted_path_and_secret_exists(made):
    for name in SERVICES:
        for _, outside, _ in mounts(name):
            if outside.startswith("."):
                assert (DEPLOY / outside).is_file() or (made / outside).is_dir(), outside
            else:
                assert outside in COMPOSE["volumes"]
    for secret in COMPOSE["secrets"].values():
        assert (made / secret["file"]).is_file()
        assert (made / secret["file"]).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("party", ORGANISATIONS)
def test_servers_start_from_a_configuration_whose_files_are_mounted(made, party):
    words = SERVERS[party]["command"]
    check_options(words[1:])
    (inside,) = (word.removeprefix("--config=") for word in words if word.startswith("--config="))
    found, writable = outside_path(party, inside)
    assert not writable
    config = made / found
    server, _ = command_of(words[1:])
    options = read_config(config, [each for each in server.params if each.name != "config"])
    assert {each.name for each in server.params if each.required} <= set(options)
    root = (made / party).resolve()
    for name in ("task", "key", "token", "ledger", "admission_hashes"):
        for path in [options[name]] if isinstance(options.get(name), str) else options.get(name, []):
            assert Path(path).exists(), name
            _, writable = outside_path(party, PurePosixPath("/party") / Path(path).resolve().relative_to(root))
            assert writable == (name == "ledger")
    if party == "analyzer":
        store = PurePosixPath("/party") / Path(options["store"]).resolve().relative_to(root)
        assert outside_path(party, store)[1]
    else:
        assert options["store"] == "postgresql://shuffledp@database/shuffledp"
        assert outside_path(party, SERVERS[party]["environment"]["PGPASSFILE"])[0] == PurePosixPath(
            f"{party}/server/pgpass"
        )


@pytest.mark.parametrize("number", [1, 2])
def test_a_database_has_the_name_and_password_of_its_shuffler(made, number):
    database, party = SERVICES[f"database-{number}"], made / f"shuffler-{number}"
    (network,) = database["networks"]
    assert database["networks"][network]["aliases"] == ["database"]
    assert network in SERVICES[f"shuffler-{number}"]["networks"]
    assert COMPOSE["networks"][network] == {"internal": True}
    (secret,) = database["secrets"]
    assert database["environment"]["POSTGRES_PASSWORD_FILE"] == f"/run/secrets/{secret['target']}"
    assert COMPOSE["secrets"][secret["source"]]["file"] == f"./shuffler-{number}/database.password"
    password = (party / "database.password").read_text().strip()
    user, name = (database["environment"][key] for key in ("POSTGRES_USER", "POSTGRES_DB"))
    assert (party / "server" / "pgpass").read_text() == f"*:*:{name}:{user}:{password}\n"


def caddy_lines():
    return [line.strip() for line in (DEPLOY / "Caddyfile").read_text().splitlines()]


def open_paths():
    """The paths that the proxy forwards, by kind of server."""
    snippets = re.findall(r"^\((\w+)\) \{\n\t@open path (.*)\n\}", (DEPLOY / "Caddyfile").read_text(), flags=re.M)
    return {kind: paths.split() for kind, paths in snippets}


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_forwards_to_its_server(name):
    each = PROXIES[name]
    server = each["environment"]["SERVER"]
    assert organisation(server) == organisation(name)
    assert set(each["networks"]) <= set(SERVERS[server]["networks"])
    assert each["environment"]["KIND"] in open_paths()
    assert set(re.findall(r"\{\$(\w+)", (DEPLOY / "Caddyfile").read_text())) == {
        *each["environment"],
        "TLS",
        "HTTP_PORT",
        "SERVER_PORT",
    }
    assert f"--port={re.findall(r'SERVER_PORT:([0-9]+)', ' '.join(caddy_lines()))[0]}" in SERVERS[server]["command"]


def test_proxies_forward_every_path_but_those_inside():
    forwarded = open_paths()
    everywhere = [path for paths in forwarded.values() for path in paths]
    for _, path in routes_of_servers():
        plain = re.sub(r"\{[^}]*\}", "x", path)
        closed = any(fnmatch.fnmatchcase(plain, inside) for inside in INSIDE)
        assert any(fnmatch.fnmatchcase(plain, pattern) for pattern in everywhere) != closed, path


def test_proxies_forward_the_longest_report_that_a_task_allows():
    """Their 413 is no refusal of the protocol, so clients would send the report again for ever."""
    (line,) = (line for line in caddy_lines() if line.startswith("max_size"))
    assert line == f"max_size {LONGEST_REPORT >> 20}MiB"


def test_proxies_neither_log_nor_forward_senders():
    lines = caddy_lines()
    (at,) = [number for number, line in enumerate(lines) if re.match(r"(log|access_log)\b", line)]
    assert lines[at + 1] == "exclude http.log http.handlers"
    assert {"header_up -X-Forwarded-For", "header_up -X-Real-Ip", "header_up -User-Agent"} <= set(caddy_lines())


def test_the_image_has_what_the_package_and_the_servers_need():
    text = (DEPLOY / "Dockerfile").read_text()
    copied = [name for names in re.findall(r"^COPY (.*) \S+$", text, flags=re.M) for name in names.split()]
    for name in copied:
        assert (ROOT / name).exists(), name
    (requirements,) = re.findall(r"--require-hashes --requirement (\S+)", text)
    pinned = (ROOT / requirements).read_text()
    for name in ("typer", "uvicorn", "psycopg", "psycopg-binary", "hatchling"):
        assert re.search(rf"^{name}==\S+ \\\n    --hash=sha256:", pinned, flags=re.M), name
    (user,) = re.findall(r"^USER (.*)$", text, flags=re.M)
    assert user == SERVERS["shuffler-1"]["user"]
    (check,) = re.findall(r"^HEALTHCHECK .* CMD (\[.*\])$", text, flags=re.M)
    assert ["CMD", *json.loads(check)] == SERVERS["shuffler-1"]["healthcheck"]["test"]


def test_pinned_requirements_agree():
    def pins(name):
        return dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements" / name).read_text(), flags=re.M))

    server = pins("server.txt")
    assert pins("demo.txt").items() <= server.items()
    assert server.items() <= pins("test.txt").items()


UNITS = {unit.name: unit for unit in DEPLOY.glob("*.service")}


def unit_of(name, instance="1"):
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read_string(UNITS[name].read_text().replace("%i", instance))
    return parser


def test_both_servers_have_a_unit():
    assert set(UNITS) == {"shuffledp-shuffler@.service", "shuffledp-analyzer.service"}


@pytest.mark.parametrize("name", UNITS)
@pytest.mark.parametrize("instance", ["1", "2"])
def test_units_start_the_servers_of_the_folders(made, name, instance):
    parser = unit_of(name, instance)
    assert {"Unit", "Service", "Install"} <= set(parser.sections())
    service = parser["Service"]
    program, kind, flag, config = shlex.split(service["ExecStart"])
    assert PurePosixPath(program).name == "shuffledp"
    assert kind == name.removeprefix("shuffledp-").partition(".")[0].rstrip("@")
    assert flag == "--config"

    def in_made(path):
        return made / PurePosixPath(path.removeprefix("-")).relative_to("/var/lib/shuffledp")

    assert in_made(config).is_file()
    assert in_made(service["ReadWritePaths"]).is_dir()
    assert service["ProtectSystem"] == "strict"
    for hidden in service["InaccessiblePaths"].split():
        assert in_made(hidden).is_file()
    if kind == "shuffler":
        assert in_made(service["Environment"].removeprefix("PGPASSFILE=")).is_file()
    assert service["LimitCORE"] == "0"
    assert service["UMask"] == "0077"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
@pytest.mark.parametrize("name", UNITS)
def test_systemd_accepts_the_units(tmp_path, name):
    """The program is not installed here, so another one stands in its place."""
    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", UNITS[name].read_text(), flags=re.M)
    unit = tmp_path / name.replace("@.", "@1.")
    unit.write_text(text)
    (tmp_path / name).write_text(text)
    result = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    ours = [line for line in result.stderr.splitlines() if "shuffledp" in line]
    assert not ours


PAGE = ROOT / "docs" / "how-to" / "deploy.md"


def inputs():
    """The files and folders in the table of every input, and whether they are secret, by their row."""
    (text,) = re.findall(r"^## Every input\n(.*?)^## ", PAGE.read_text(), flags=re.M | re.S)
    rows = [row.strip("|").split("|") for row in re.findall(r"^\| `.*$", text, flags=re.M)]
    return {name: row[2].strip() for row in rows for name in re.findall(r"`([^`]+)`", row[0])}


@pytest.mark.slow
def test_every_file_of_the_folders_is_in_the_table_and_every_row_has_one(tmp_path):
    """Both stores, both kinds of admission, and the survey page."""
    rows, found = inputs(), set()
    for store, admission in (("postgres", "tokens"), ("sqlite", "secret")):
        folder = tmp_path / store
        result = command(
            *("deploy", "init", folder, "--shufflers", 2, "--store", store, "--page", "--admission", admission),
            *("--question", "Tea?", "--domain", "yes,no", "--users", 20, "--epsilon", 4, "--delta", "1e-3"),
        )
        assert result.returncode == 0, result.stderr
        for path in folder.rglob("*"):
            if path.is_dir() and any(path.iterdir()):
                continue
            parts = path.relative_to(folder).parts
            own = PurePosixPath(*(parts[1:] if parts[0] in ORGANISATIONS else parts))
            (row,) = {str(each) for each in (own, *own.parents)} & set(rows)
            found.add(row)
            if rows[row] != "no" and path.suffix != ".hashes":
                assert path.stat().st_mode & 0o077 == 0, path
    assert found == set(rows)


def test_every_variable_is_on_the_page():
    """Only what an operator sets: values that the compose file fixes are not inputs."""
    compose, caddy = (DEPLOY / "compose.yaml").read_text(), (DEPLOY / "Caddyfile").read_text()
    used = set(re.findall(r"\{\$(\w+)", caddy))
    used |= {re.sub("^(SHUFFLER_[0-9]|ANALYZER)_", "SHUFFLER_1_", name) for name in re.findall(r"\$\{(\w+)", compose)}
    used |= {name for each in SERVERS.values() for name in each.get("environment", {})}
    used |= {
        name for unit in UNITS.values() for name in re.findall(r"^Environment=(\w+)=", unit.read_text(), flags=re.M)
    }
    assert {"SITE", "HTTP_PORT", "SHUFFLER_1_PORT", "PGPASSFILE"} <= used
    assert {"COMPOSE_PROFILES", *used} - set(re.findall(r"`([A-Z][A-Z0-9_]+)`", PAGE.read_text())) == set()


@pytest.mark.parametrize(
    ("page", "kind", "closed"),
    [("ask-in-browsers", "shuffler", []), ("watch-a-collection", "analyzer", ["/operator", "/operator/*"])],
)
def test_pages_name_the_paths_that_the_proxy_forwards(page, kind, closed):
    """All paths, or all but those of operators."""
    text = " ".join((ROOT / "docs" / "how-to" / f"{page}.md").read_text().split())
    (sentence,) = re.findall(r"(?:must forward|forward only) (`/`[^.]*)", text)
    named = re.findall(r"`(/[^`]*)`", sentence.partition("must not forward")[0])
    assert sorted([*named, *closed]) == sorted(open_paths()[kind])


def test_no_guide_publishes_the_interface_of_operators():
    """`/v1/*` includes `/v1/admin/`."""
    for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *DEPLOY.iterdir()):
        if page.is_file() and page.name != "endpoints.md":
            assert "/v1/*" not in page.read_text(), page
