"""Readers on real files out of packages, counted a second time by other means.

Packages come through their registries' own clients. Kinds for which no package holds a real file
(Posts.xml, PMC bundles, arXiv e-prints, patents, EuroParl, Hacker News, Gutenberg's own headers,
CourtListener) are not here.
"""

from __future__ import annotations

import bz2
import email
import email.policy
import os
import re
import subprocess
import sys
import tarfile
import unicodedata
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from reading import documents, read, reasons

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Source distributions and Debian packages, unpacked."""
    folder = tmp_path_factory.mktemp("packages")
    wanted = ["biopython", "pysrt", "webvtt-py", "gensim", "irclog2html"]
    options = ["--no-deps", "--no-binary=:all:", "--no-build-isolation", "-q", "-d", str(folder)]
    for name in wanted:
        command = [sys.executable, "-m", "pip", "download", *options, name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        _need(
            any(folder.glob(f"{name.replace('-', '?')}-*.tar.gz")), f"{name}: {done.stderr[-300:]}"
        )
    for path in folder.glob("*.tar.gz"):
        with tarfile.open(path) as archive:
            archive.extractall(folder, filter="data")
    debian = ["developers-reference", "libpython3.11-testsuite"]
    command = ["apt-get", "download", *debian]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = list(folder.glob("*.deb"))
    _need(len(found) == len(debian), f"apt-get: {done.stderr[-300:]}")
    for path in found:
        subprocess.run(["dpkg", "-x", path, folder / "debian"], check=True)
    return folder


def _need(condition: bool, what: str) -> None:
    if condition:
        return
    if os.environ.get("CI"):
        pytest.fail(f"CI needs {what}")
    pytest.skip(f"no registry gave {what}")


def one(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def test_wikipedia(packages: Path) -> None:
    """gensim's piece of the English dump: pages counted by patterns over the raw XML."""
    path = one(packages, "gensim-*/gensim/test/test_data/enwiki-latest-pages-articles1*")
    raw = bz2.decompress(path.read_bytes()).decode()
    pages = re.findall(r"<page>.*?</page>", raw, re.DOTALL)
    articles = [p for p in pages if "<ns>0</ns>" in p and "<redirect" not in p]
    records = read("wikitext", path)
    found = documents(records)
    assert len(pages) == len(records) > 200 and len(articles) == len(found) > 100
    assert reasons(records).count("redirect") == sum(
        "<redirect" in p and "<ns>0</ns>" in p for p in pages
    )
    for page, document in zip(articles, found, strict=True):
        title = ElementTree.fromstring(page).findtext("title")
        assert document.text.startswith(f"{title}\n\n")
    # Markup that its authors broke stays; braces are left out, as formulas have them.
    left = sum(len(re.findall(r"\[\[|\]\]|</?ref|'''", d.text)) for d in found)
    assert left < sum(len(d.text) for d in found) / 50_000, left
    text = next(d.text for d in found if d.meta["title"] == "Anarchism")
    assert "Anarchism is a political philosophy that advocates self-governed societies" in text


def test_pubmed(packages: Path) -> None:
    """Biopython's PubMed records, counted through the standard library's parser."""
    folder = one(packages, "biopython-*/Tests/Entrez")
    checked = 0
    for path in sorted(folder.glob("pubmed*.xml")):
        root = ElementTree.parse(path).getroot()
        if root.tag != "PubmedArticleSet":
            continue
        articles = root.findall("PubmedArticle")
        abstracts = [
            a for a in articles if "".join(a.itertext()) and a.find(".//AbstractText") is not None
        ]
        records = read("pubmed_abstracts", path)
        assert (len(records), len(documents(records))) == (len(articles), len(abstracts))
        for article, document in zip(abstracts, documents(records), strict=True):
            words = " ".join("".join(article.find(".//AbstractText").itertext()).split())  # type: ignore[union-attr]
            assert words in document.text
            assert document.meta["pmid"] == article.findtext(".//PMID")
        checked += len(articles)
    assert checked >= 5


def test_an_article_of_pmc(packages: Path) -> None:
    path = one(packages, "biopython-*/Tests/Entrez/efetch_pmc.xml")
    root = ElementTree.parse(path).getroot()
    found = documents(read("pmc_xml", path))
    bodies = list(root.iter("body"))
    assert len(found) == len(bodies) == 1
    words = "".join(bodies[0].itertext()).split()
    assert found[0].text.split()[-len(words) :] == words
    assert found[0].meta["licence"] == "CC-BY-NC-4.0" and found[0].meta["year"] == 2021


def test_subtitles(packages: Path) -> None:
    """pysrt's and webvtt's own test files: cues are the time lines with text."""
    files = sorted(
        [*packages.glob("pysrt-*/tests/**/*.srt"), *packages.glob("webvtt_py-*/tests/**/*.vtt")]
    )
    counted = 0
    for path in files:
        data = path.read_bytes()
        wide = {b"\xff\xfe\0\0": "utf-32", b"\0\0\xfe\xff": "utf-32"}.get(data[:4])
        encoding = wide or ("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1")
        bare = data.decode(encoding).removeprefix("\ufeff").removeprefix("ï»¿")
        times = len(re.findall(r"\d *--> *\d", bare))
        for document in documents(read("subtitles", path)):
            assert document.meta["cues"] == times, path
            assert "-->" not in document.text and not re.search(r"</?[ibuc]\b", document.text)
            counted += times
    assert counted > 1000


def test_python_mail(packages: Path) -> None:
    """The messages that CPython tests its parser with, beside the standard library's newer API."""
    folder = packages / "debian/usr/lib/python3.11/test/test_email/data"
    records = read("maildir", folder)
    assert len(records) == len(list(folder.iterdir()))
    compared = 0
    for document in documents(records):
        data = (
            (folder / document.id.rpartition("/")[2]).read_bytes()
            if ":" not in document.id
            else b""
        )
        try:
            message = email.message_from_bytes(data, policy=email.policy.default)
            body = message.get_body(("plain",))
            text = body.get_content() if body is not None else None
        except (LookupError, ValueError, KeyError, AttributeError, TypeError):
            continue  # where the newer API dies, and the reader does not
        if text and text.strip() and not message.is_multipart():
            flat = " ".join(unicodedata.normalize("NFC", text).split())
            assert flat in " ".join(document.text.split()), document.id
            compared += 1
    assert compared >= 8


def test_irc(packages: Path) -> None:
    folder = one(packages, "irclog2html-*/testcases")
    text = "\n".join(d.text for d in documents(read("irc_logs", folder)))
    raw = "\n".join(p.read_text("utf-8", "replace") for p in folder.glob("*.log"))
    said = re.findall(r"^\S+(?: \S+ \S+)? +<[^>]+>", raw, re.MULTILINE)
    assert len(re.findall(r"^<[^>]+> ", text, re.MULTILINE)) == len(said) > 100


def test_an_epub(packages: Path) -> None:
    """Debian's Developer's Reference: about as many words as its pages have."""
    path = packages / "debian/usr/share/developers-reference/developers-reference.epub"
    (book,) = documents(read("books_epub", path))
    with zipfile.ZipFile(path) as archive:
        names = [n for n in archive.namelist() if n.endswith((".xhtml", ".html"))]
        bodies = {n: ElementTree.fromstring(archive.read(n)).find("{*}body") for n in names}
    assert len(names) > 5 and book.meta["language"] == "en"
    total = sum(
        len("".join(body.itertext()).split())
        for name, body in bodies.items()
        if body is not None and "nav" not in name
    )
    assert 0.97 < len(book.text.split()) / total < 1.03, total


def test_a_source_tree(packages: Path) -> None:
    """Biopython's sources as a plain tree: every file is told of, by its length and NULs."""
    folder = one(packages, "biopython-*[0-9]")
    files = [
        p
        for p in folder.rglob("*")
        if p.is_file() and not any(x.startswith(".") for x in p.relative_to(folder).parts)
    ]
    records = read("git_tree", folder)
    assert len(records) == len(files) > 2000
    short = {
        str(p.relative_to(folder))
        for p in files
        if b"\0" not in (data := p.read_bytes())[:8000]
        and len(data.decode("utf-8", "replace")) < 100_000
    }
    found = {d.meta["path"] for d in documents(records)}
    assert found <= short and len(short - found) <= reasons(records).count("binary by its suffix")
    assert {d.meta["licence"] for d in documents(records)} == {"BSD-3-Clause"}


def test_this_repository(root: Path) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True
    )
    wanted = {name for name in tracked.stdout.split("\0") if name and (root / name).is_file()}
    records = read("git_tree", root)
    found = {d.meta["path"] for d in documents(records)}
    assert found <= wanted and len(records) >= len(wanted) > 100
    for document in documents(records):
        assert document.text.encode() == (root / document.meta["path"]).read_bytes()
