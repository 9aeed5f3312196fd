from __future__ import annotations

import pytest

from prloom.web import access


@pytest.mark.parametrize("host", ["127.0.0.1:7717", "localhost:7717", "LOCALHOST:7717", "[::1]:7717"])
def test_on_this_machine_the_server_has_its_usual_names(host: str):
    assert access.names("127.0.0.1", 7717).has(host)


@pytest.mark.parametrize("host", ["192.168.1.5:7717", "[fe80::1]:7717", "box:7717", "localhost:7717"])
def test_on_all_addresses_each_of_them_is_a_name_because_a_name_can_be_rebound_and_an_address_cannot(host: str):
    assert access.names("0.0.0.0", 7717, ("box",)).has(host)


@pytest.mark.parametrize("host", ["evil.example:7717", "192.168.1.5", "192.168.1.5:80", "192.168.1.5.nip.io:7717"])
def test_on_all_addresses_a_foreign_name_is_none(host: str):
    assert not access.names("0.0.0.0", 7717, ("box",)).has(host)


def test_on_one_address_only_that_is_a_name():
    names = access.names("192.168.1.5", 7717)

    assert names.has("192.168.1.5:7717")
    assert not names.has("192.168.1.6:7717")


def test_a_default_port_need_not_be_named():
    assert access.names("127.0.0.1", 80).has("localhost")


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "localhost"])
def test_a_loopback_address_is_this_machines_own(address: str):
    assert access.is_loopback(address)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.5", "box"])
def test_any_other_address_is_reached_by_others(address: str):
    assert not access.is_loopback(address)


def test_a_navigation_from_another_site_may_show_a_page():
    headers = {"host": "localhost:7717", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}

    assert access.problem("GET", headers, access.names("127.0.0.1", 7717)) is None


def test_a_form_of_the_page_itself_may_act():
    for headers in ({"origin": "http://localhost:7717"}, {"sec-fetch-site": "same-origin"}):
        given = {"host": "localhost:7717", **headers}
        assert access.problem("POST", given, access.names("127.0.0.1", 7717)) is None


@pytest.mark.parametrize("address", ["127.0.0.2", "::1", "localhost", "127.0.0.1", "192.168.1.5", "0.0.0.0"])
def test_the_link_that_is_printed_has_a_name_of_the_server(address: str):
    assert access.names(address, 7717).has(f"{access.link_host(address)}:7717")
