"""What is masked, what is left alone in code and mathematics, and hostile input."""

from __future__ import annotations

import ipaddress
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamount.corpora.text.edits import load_edits
from seamount.corpora.text.edits.mask_pii import edit


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("Write to jane.doe+news@mail.example.co.uk.", "Write to <EMAIL>."),
        ("<a@b.org>,c_d@e-f.com;", "<<EMAIL>>,<EMAIL>;"),
        ("mailto:x@y.info?subject=z", "mailto:<EMAIL>?subject=z"),
        ("a@b.com@c.com", "a@<EMAIL>"),
        ("...a@b.com\n-a@b.com", "...<EMAIL>\n-<EMAIL>"),
        ("from 81.2.69.142, port 80", "from <IP_ADDRESS>, port 80"),
        ("http://81.2.69.142:8080/x", "http://<IP_ADDRESS>:8080/x"),
        ("(81.2.69.142).", "(<IP_ADDRESS>)."),
        ("ip=81.2.69.142", "ip=<IP_ADDRESS>"),
        ("host 2a00:1450:4009:81f::200e up", "host <IP_ADDRESS> up"),
        ("[2606:2800:220:1:248:1893:25c8:1946]:443", "[<IP_ADDRESS>]:443"),
    ],
)  # fmt: skip
def test_masked(text: str, masked: str) -> None:
    assert edit(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        # versions, sections, enzymes, file names
        "numpy 1.2.3.4", "Theorem 1.2.3.4 holds", "Chrome/58.0.302.110", "v81.2.69.142",
        "version 81.2.69.142", "pkg==81.2.69.142", "pkg-81.2.69.142.tar.gz", "81.2.69.142-beta",
        "81.2.69.142.5", "0.81.2.69.142", "Section 4.35.1.2", "EC 3.4.21.62", "999.1.2.3",
        "081.002.069.142",
        # private, local, documentation, multicast, masks
        "192.168.0.1", "10.0.40.1", "127.0.0.1", "172.16.99.1", "192.0.2.77", "224.0.0.251",
        "255.255.255.0", "0.0.0.0", "169.254.10.44",
        # code
        "@property\ndef f(self): pass", "y = a@b.T + c@d", "image@2x.png", "npm i lodash@4.17.21",
        "git@github.com:user/repo.git", "@Test(expected=E.class)", "user@localhost", "a @ b.com",
        "foo@bar.py", "std::vector<int>::iterator", "2001:db8::1", "fe80::1", "::1",
        "12:30:45", "2021:10:05:07", "de:ad:be:ef:00:01", "dead::beef", "x[2000::3]",
        "$n$-type|see{type!n-type@$n$-type}", "phone 555-0100 or +1 (650) 555-0100",
    ],
)  # fmt: skip
def test_left_alone(text: str) -> None:
    assert edit(text) == text


@given(st.integers(0, 2**32 - 1))
def test_a_quad_is_masked_only_if_public_and_no_version(number: int) -> None:
    address = ipaddress.ip_address(number)
    wanted = address.is_global and not address.is_multicast and max(address.packed) >= 32
    assert (edit(f"at {address} now") == "at <IP_ADDRESS> now") == wanted


@given(
    st.lists(st.sampled_from([*"a.@-_1 :\n", "a@b.com", "81.2.69.142", ".org", "é"])).map("".join)
)
def test_masking_twice_is_masking_once_and_no_mail_is_left(text: str) -> None:
    once = edit(text)
    assert edit(once) == once
    assert " a@b.com " not in f" {once} " and " 81.2.69.142 " not in f" {once} "


def test_parameters() -> None:
    ((_, emails),) = load_edits([{"mask_pii": {"ip": "", "email": "x@example.org"}}])
    assert emails("a@b.com 81.2.69.142") == "x@example.org 81.2.69.142"


@pytest.mark.parametrize(
    "piece", ["a", "a.", "@", "a@", "1.", "1.1.1.1.", "2000:", "a@a.", ".@.", "x@y-"]
)
def test_hostile_repeats_take_linear_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        edit(text)
        return time.process_time() - start

    seconds(1_000)
    assert seconds(1_000_000) < 20 * max(seconds(100_000), 0.01)
