"""StackExchange, Hacker News, IRC and mail: exact texts, order, and hostile input."""

from __future__ import annotations

import json
import mailbox
import os
import resource
import tempfile
from email.message import EmailMessage
from pathlib import Path

import pytest
from miniatures import IRC_IRSSI, LINKS, MBOX, NEWS, PAGES, POSTS
from reading import documents, read, read_broken, reasons, write

from seamount.core.records import Document, Quarantined
from seamount.corpora.text.readers import _irc_lines, curated_urls


def test_questions_and_their_best_answers(tmp_path: Path) -> None:
    write(tmp_path, {"Posts.xml": POSTS})
    records = read("stackexchange_posts", tmp_path)
    first, late = documents(records)
    assert first.text == (
        "Q:\n\nWhy salt?\n\nIs it salty?\n\nA:\n\nFirst.\n\nA:\n\nSecond.\n\nA:\n\nThird.\n"
    )
    assert first.meta == {
        "title": "Why salt?",
        "score": "4",
        "licence": "CC BY-SA 4.0",
        "tags": ["sea", "salt"],
        "answers": 3,
    }
    assert late.text == "Q:\n\nLate\n\nQ7\n\nA:\n\nEarly.\n" and late.id.endswith("Posts.xml:7")
    assert sorted(reasons(records)) == [
        "answer not among the best",
        "answer not among the best",
        "answer without its question",
        "neither question nor answer",
        "no answer with 3 votes",
    ]


def test_votes_and_number_of_answers_are_parameters(tmp_path: Path) -> None:
    write(tmp_path, {"Posts.xml": POSTS})
    found = documents(read("stackexchange_posts", tmp_path, least_votes=2, most_answers=9))
    assert found[0].text.count("A:\n") == 5 and "Too low." in found[0].text
    found = documents(read("stackexchange_posts", tmp_path, least_votes=9))
    assert [d.id[-2:] for d in found] == [":7"]


def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    head, *rows, tail = POSTS.replace('"\n   Body', '" Body').split("\n  <row")
    last, end = tail.split("\n</posts>")
    mixed = "\n  <row".join([head, last, *reversed(rows)]) + "\n</posts>" + end
    write(tmp_path / "a", {"Posts.xml": POSTS})
    write(tmp_path / "b", {"Posts.xml": mixed})
    texts = [
        [d.text for d in documents(read("stackexchange_posts", tmp_path / folder))]
        for folder in ("a", "b")
    ]
    assert texts[0] == texts[1] and len(texts[0]) == 2


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('<row PostTypeId="1" Body="x"/>', "no number"),
        ('<row Id="1" PostTypeId="2" ParentId="?" Body="x"/>', "no number"),
        ('<row Id="99999999999999999999" PostTypeId="1" Body="x"/>', "no number"),
        ('<row Id="3" PostTypeId="1" Body="x"/><row Id="3" PostTypeId="1" Body="y"/>', "before"),
    ],
)
def test_rows_that_are_none(row: str, reason: str, tmp_path: Path) -> None:
    write(tmp_path, {"Posts.xml": f"<posts>{row}</posts>"})
    records = read("stackexchange_posts", tmp_path)
    assert any(isinstance(r, Quarantined) and reason in r.reason for r in records)


def test_a_dump_cut_short_gives_its_questions(tmp_path: Path) -> None:
    write(tmp_path, {"Posts.xml": POSTS[: POSTS.index('  <row Id="8"') + 9]})
    records, error = read_broken("stackexchange_posts", tmp_path)
    assert len(documents(records)) == 2 and "cut short" in error


@pytest.mark.slow
def test_scratch_goes_away_and_memory_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    body = "&lt;p&gt;" + "words and words " * 400 + "&lt;/p&gt;"
    with (tmp_path / "Posts.xml").open("w") as stream:
        stream.write("<posts>")
        for n in range(8000):  # 100 MB
            stream.write(
                f'<row Id="{n + 10_000}" PostTypeId="2" ParentId="{n}" Score="5" Body="{body}"/>'
            )
            stream.write(f'<row Id="{n}" PostTypeId="1" Title="t" Body="{body}"/>')
        stream.write("</posts>")
    assert (tmp_path / "Posts.xml").stat().st_size > 100e6
    from seamount.corpora.text.readers import stackexchange_posts as reader

    (item,) = reader.items(None, url=str(tmp_path))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = sum(isinstance(r, Document) for r in reader.read(item, "StackExchange"))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert count == 8000 and os.listdir(scratch) == []
    assert grown < 90, f"{grown} MB more for 100 MB; SQLite's cache is 64 MB of it"


def test_a_thread(tmp_path: Path) -> None:
    write(tmp_path, {"n.jsonl": "".join(json.dumps(n) + "\n" for n in NEWS)})
    records = read("hacker_news", tmp_path)
    (thread,) = documents(records)
    assert thread.text == (
        "Sea - ann\nhttp://s.example\n======\nbob\nSalt's good\n\n~~~\ncy\nDeep.\n\n------\ndi\n"
        "Second\n\n~~~\ned\nBelow\n"
    )
    assert thread.meta == {"title": "Sea", "url": "http://s.example", "score": 7, "comments": 4}
    assert sorted(reasons(records)) == [
        "comment without its story",
        "comment without its story",
        "deleted or dead",
        "story without comment or text",
    ]


def test_whole_threads_and_strange_items(tmp_path: Path) -> None:
    tree = {
        "id": 1,
        "type": "story",
        "author": "ann",
        "title": "T",
        "children": [
            {"id": 2, "author": "b", "text": "<i>hi</i>", "children": [{"id": 3, "text": "x"}]}
        ],
    }
    odd = [
        {"id": "7"},
        {"id": -1},
        {"id": 1},
        {"id": 5, "score": {"a": 1}},
        {"id": 1 << 70},
        {"id": True},
    ]
    write(tmp_path, {"t.json": json.dumps([tree, *odd])})
    records = read("hacker_news", tmp_path)
    assert documents(records)[0].text == "T - ann\n======\nb\nhi\n\n~~~\nx\n"
    assert sum(isinstance(r, Quarantined) for r in records) == 6


def test_a_thread_deeper_than_any_stack(tmp_path: Path) -> None:
    chain = [{"id": 1, "type": "story", "title": "T"}]
    chain += [
        {"id": n, "type": "comment", "by": "x", "text": str(n), "parent": n - 1}
        for n in range(2, 5000)
    ]
    write(tmp_path, {"t.jsonl": "".join(json.dumps(c) + "\n" for c in reversed(chain))})
    (thread,) = documents(read("hacker_news", tmp_path))
    assert thread.text.endswith("~~~\nx\n4999\n") and thread.meta["comments"] == 4998


def test_curated_links(tmp_path: Path) -> None:
    for name, records in (("links/l.jsonl", LINKS), ("pages/p.jsonl", PAGES)):
        write(tmp_path, {name: "".join(json.dumps(r) + "\n" for r in records)})
    (item,) = curated_urls.items(None, url=str(tmp_path / "links"), pages=str(tmp_path / "pages"))
    found = list(curated_urls.read(item, "OpenWebText2"))
    (page,) = documents(found)
    assert (page.text, page.id) == ("Page a", "links:sea.example/a")
    assert page.meta == {"url": "http://sea.example/a", "title": "A", "score": 9}
    assert sorted(reasons(found)) == [
        "address seen before",
        "no page for this link",
        "no score",
        "no web address",
        "page of no curated link",
        "page seen before",
        "score below 3",
    ]


@pytest.mark.parametrize(
    "url", [None, 5, "", "http://", "http://[", "http://a:b/", "javascript:x", "//a"]
)
def test_what_is_no_address(url: object) -> None:
    assert curated_urls.key_of(url) == ""


def test_a_channel_by_weeks(tmp_path: Path) -> None:
    write(tmp_path, {"#sea.log": IRC_IRSSI})
    before, after = documents(read("irc_logs", tmp_path))
    assert before.id.endswith("/#sea/2004-W53") and after.id.endswith("/#sea/2005-W01")
    assert before.text == "2005-01-02\n<ann> last of the week\n"
    assert after.text == "2005-01-03\n* bob dives\n<cy> deep\n"
    assert before.meta == {"channel": "#sea", "system_lines": 2}


def test_days_of_files_join_to_weeks(tmp_path: Path) -> None:
    days = {f"2020/01/{day:02d}/#c.txt": f"[10:00] <a> day {day}\n" for day in range(1, 32)}
    days["net_#d_20200131.log"] = "[10:00:00] <b> d\n"
    days["#1234567890.log"] = "[10:00] <e> no date\n"
    write(tmp_path, days)
    found = {d.id.partition("/")[2]: d.text for d in documents(read("irc_logs", tmp_path))}
    assert {k: v.count("<a>") for k, v in found.items() if k.startswith("#c/")} == {
        "#c/2020-W01": 5,
        "#c/2020-W02": 7,
        "#c/2020-W03": 7,
        "#c/2020-W04": 7,
        "#c/2020-W05": 5,
    }
    assert found["net_#d/2020-W05"] == "2020-01-31\n<b> d\n"
    assert found["#1234567890/undated"] == "<e> no date\n"


@pytest.mark.parametrize(
    ("line", "talk"),
    [
        ("[12:34] <ann> hi", "<ann> hi"),
        ("12:34 < ann> hi", "<ann> hi"),
        ("12:34:56 <+ann> hi", "<ann> hi"),
        ("[12:34:56] * ann waves", "* ann waves"),
        ("12:34  * ann waves", "* ann waves"),
        ("[12:34] Action: ann waves", "* ann waves"),
        ("2020-01-31 12:34:56\t@ann\thi\tthere", "<ann> hi\tthere"),
        ("2020-01-31 12:34:56\t *\tann waves", "* ann waves"),
        ("2020-01-31 12:34:56\t-->\tann (~a@b) has joined #c", None),
        ("2020-01-31T12:34:56Z <ann> hi", "<ann> hi"),
        ("Jul 05 12:34:56 <ann>\thi", "<ann> hi"),
        ("Jul 05 12:34:56 *\tann has quit (gone)", None),
        ("Jul 05 12:34:56 *\tann (~a@b) has joined #c", None),
        ("[14 Jan 12:36] <ann!n=a@b.c> -hi", "<ann> hi"),
        ("[12:34] * ann has joined the army", "* ann has joined the army"),
        ("=== bob has joined #ubuntu", None),
        ("[12:34:56] *** Joins: ann (a@b)", None),
        ("12:34 -!- mode/#c [+o ann] by cy", None),
        ("12:34 -NickServ(x@y)- hello", None),
        ("--- Day changed Tue Jul 06 2004", None),
        ("[12:34] <ann>", "<ann> "),
        ("<ann> no time", "<ann> no time"),
        ("", None),
    ],
)
def test_lines_of_many_clients(line: str, talk: str | None) -> None:
    assert _irc_lines.talk(line) == talk


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("--- Log opened Mon Jul 05 12:00:00 2004", "2004-07-05"),
        ("--- Day changed Tue 06 Jul 2004", "2004-07-06"),
        ("**** BEGIN LOGGING AT Mon Jul  5 12:00:00 2004", "2004-07-05"),
        ("[2020-01-31 12:00:00] <a> b", "2020-01-31"),
        ("2020-01-31T12:00:00 <a> --- Day changed Tue Jul 06 2004", "2020-01-31"),
        ("12:00 <a> --- Day changed Tue Jul 06 2004", None),
        ("2020-13-31 12:00:00\ta\tb", None),
        ("--- Day changed Tue Jul 66 2004", None),
    ],
)
def test_days_that_lines_tell(line: str, day: str | None) -> None:
    found = _irc_lines.day_of(line)
    assert (found.isoformat() if found else None) == day


def test_mail_of_an_mbox(tmp_path: Path) -> None:
    write(tmp_path, {"list": MBOX})
    first, second = documents(read("maildir", tmp_path))
    assert first.text == "Subject: Café plans\n\nMeet at the café.\n\nFrom here it is near."
    assert first.meta == {
        "subject": "Café plans",
        "message_id": "<1@example.org>",
        "date": "2001-01-01T10:00:00+00:00",
        "year": 2001,
    }
    assert second.text == "Subject: Two forms\n\nPlain"


def test_mailboxes_as_the_standard_library_writes_them(tmp_path: Path) -> None:
    texts = [f"Message {n}\n\nFrom the sea, line {n}: ä\n" for n in range(20)]
    for kind in (mailbox.mbox, mailbox.Maildir):
        box = kind(str(tmp_path / kind.__name__))
        for n, text in enumerate(texts):
            message = EmailMessage()
            message["Subject"] = f"S{n}"
            message.set_content(text)
            box.add(message)
        box.close()
        found = documents(read("maildir", tmp_path / kind.__name__))
        bodies = sorted(d.text.partition("\n\n")[2].strip() for d in found)
        assert bodies == sorted(t.strip() for t in texts), kind


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        ("Content-Type: text/plain; charset=utf-8", "caf\xe9".encode("latin-1"), "café"),
        ("Content-Type: text/plain; charset=no-such", b"abc", "abc"),
        ("Content-Type: text/plain; charset=us-ascii", "café".encode(), "café"),
        ("Content-Type: text/html", b"<p>a<br>b</p><script>x</script>", "a\nb"),
        ("Content-Transfer-Encoding: base64", b"YWJj!!", "abc"),
        ("Content-Type: multipart/mixed", b"no boundary", "no boundary"),
        ("Content-Type: text/plain; charset=iso-2022-jp", "海".encode("iso2022-jp"), "海"),
        ("Subject: =?utf-8?b?w6k=?= =?x-none?q?=FF?=", b"s", "Subject: é\xff\n\ns"),
        ("Subject: " + "=?utf-8?q?" + "=C3" * 50, b"s", None),
        ("Date: Mon, 99 Foo 10000 99:99:99 +9999", b"d", "d"),
    ],
)
def test_mail_with_damaged_headers(
    headers: str, body: bytes, text: str | None, tmp_path: Path
) -> None:
    write(tmp_path, {"1.": headers.encode() + b"\n\n" + body})
    (document,) = documents(read("maildir", tmp_path))
    assert document.text == text or (text is None and document.text.endswith("\n\ns"))


def test_mail_that_is_none_or_too_deep(tmp_path: Path) -> None:
    deep = b"".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n".encode() for n in range(3000)
    )
    write(tmp_path, {"1.": deep + b"\n\nx", "2.": b"\x89PNG\r\n", "3.": b"Subject: x\n\n"})
    records = read("maildir", tmp_path)
    assert reasons(records)[-2:] == ["no message: it does not begin with a header", "no text part"]
    assert len(records) == 3
