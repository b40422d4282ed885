"""arXiv LaTeX, PMC and PubMed XML: exact texts of small samples, and hostile ones."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest
from miniatures import ARTICLE, MEDLINE
from reading import documents, read, read_broken, reasons, tar, write
from samples import SAMPLES

from seamount.core.records import Quarantined
from seamount.corpora.text.readers import _latex


def test_a_paper_is_flattened_and_bare(tmp_path: Path) -> None:
    write(tmp_path, SAMPLES["arxiv_latex"]().files)
    by_id = {d.id.partition("/")[2]: d for d in documents(read("arxiv_latex", tmp_path))}
    paper = by_id["2001.00001v2.tar.gz"]
    assert paper.text == (
        "\\maketitle\nHalf of the sea is 50\\% deep. \nFrom within. \n\n"
        "\\begin{verbatim}\n100% stays\n\\end{verbatim}\n"
    )
    assert paper.meta == {
        "title": "On \\emph{Waves}",
        "author": "A. Writer",
        "main": "ms.tex",
        "arxiv": "2001.00001v2",
    }
    old = by_id["arXiv_src_0101_001.tar/0101/hep-th0101001.gz"]
    assert old.text == "Old\n" and old.meta["arxiv"] == "hep-th0101001"


@pytest.mark.parametrize(
    ("files", "main"),
    [
        ({"a.tex": "\\documentclass{x}", "b.tex": "\\documentclass{x}\\input{a}"}, "b.tex"),
        (
            {"supp.tex": "\\documentclass{x}" + "y" * 99, "paper.tex": "\\documentclass{x}"},
            "paper.tex",
        ),
        ({"x/main.tex": "\\documentclass{x}", "z.tex": "\\documentclass{x}"}, "z.tex"),
        ({"a.tex": "% \\documentclass{x}\n\\section{A}", "b.tex": "\\bye" + " " * 50}, "b.tex"),
        (
            {"00README.XXX": "b.tex toplevelfile\n", "a.tex": "\\documentclass{x}", "b.tex": ""},
            "b.tex",
        ),
        ({"a.bbl": "\\begin{thebibliography}", "r.txt": "\\section"}, None),
    ],
)
def test_the_main_file(files: dict[str, str], main: str | None) -> None:
    assert _latex.main_file(files) == main


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ("a % b\nc", "a \nc"),
        ("a \\% b % c\n", "a \\% b \n"),
        ("a \\\\% c\n", "a \\\\\n"),
        ("x\n  % whole line\ny\n", "x\ny\n"),
        ("\\verb|%| % c", "\\verb|%| "),
        ("\\verb*+%+%c", "\\verb*+%+"),
        (
            "\\begin{lstlisting}\n% code\n\\end{lstlisting}% c",
            "\\begin{lstlisting}\n% code\n\\end{lstlisting}",
        ),
        ("a\\begin{comment}\nno\n\\end{comment}b", "ab"),
        ("\\begin{verbatim} % never ends", "\\begin{verbatim} "),
        ("%", ""),
    ],
)
def test_comments(source: str, bare: str) -> None:
    assert _latex.without_comments(source) == bare


def test_inputs_that_have_no_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_latex, "MOST_CHARACTERS", 1_000_000)
    loop = {"main.tex": "\\documentclass{x}a\\input{b}", "b.tex": "b\\input{main}\\input{b}"}
    twice = {f"f{n}.tex": f"\\input{{f{n + 1}}}\\input{{f{n + 1}}}" + "x" * 99 for n in range(30)}
    twice["main.tex"] = "\\documentclass{x}\\begin{document}\\input{f0}\\end{document}"
    write(tmp_path, {"loop.tar": tar(loop), "bomb.tar.gz": tar(twice, "w:gz")})
    records = read("arxiv_latex", tmp_path)
    (paper,) = documents(records)
    assert paper.text == "\\documentclass{x}ab\\input{main}\\input{b}\n"
    assert reasons(records) == ["beyond 1000000 characters when \\input is filled in"]


def test_comment_marks_without_end_take_linear_time() -> None:
    source = "\\begin{verbatim} \\begin{minted} % \\verb|x\n" * 100_000
    started = time.process_time()
    assert "%" not in _latex.without_comments(source)
    assert time.process_time() - started < 10


def test_names_in_a_paper_stay_inside_it(tmp_path: Path) -> None:
    (tmp_path / "secret.tex").write_text("SECRET")
    paper = {
        "main.tex": "\\documentclass{x}\\input{../secret}\\input{/etc/passwd}\\input{../../up}",
        "../../up.tex": "kept by its last part",
    }
    write(tmp_path, {"in/p.tar.gz": tar(paper, "w:gz")})
    (found,) = documents(read("arxiv_latex", tmp_path / "in"))
    assert "SECRET" not in found.text and "root:" not in found.text
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["in", "p.tar.gz", "secret.tex"]


def test_papers_in_other_forms_and_damaged_ones(tmp_path: Path) -> None:
    whole = gzip.compress(b"\\documentclass{x}" + bytes(range(256)) * 40)
    write(
        tmp_path,
        {
            "a.gz": gzip.compress(b"%PDF-1.5 ..."),
            "b.gz": gzip.compress(b"%!PS-Adobe"),
            "c.gz": whole[: len(whole) // 2],
            "d.gz": gzip.compress(b"a withdrawn paper"),
            "e.tex": "caf\xe9 \\section{a}".encode("latin-1"),
        },
    )
    records = read("arxiv_latex", tmp_path)
    assert reasons(records)[:2] == ["PDF, not LaTeX", "PostScript, not LaTeX"]
    assert isinstance(records[2], Quarantined) and "cut short" in records[2].reason
    assert reasons(records)[3] == "no LaTeX file among its files"
    assert documents(records)[0].text == "café \\section{a}\n"


def test_an_article_as_markdown(tmp_path: Path) -> None:
    write(tmp_path, {"a.nxml": ARTICLE})
    (article,) = documents(read("pmc_xml", tmp_path))
    assert article.text == (
        "# Salt & sand\n\n## Abstract\n\nShort words.\n\n## Methods\n\n"
        "We took 10^5^ grains [1].\n\n### Sieve\n\n- fine\n\n- coarse\n\n## Results\n\n"
        "Sizes\n\na | b\n\n1 | 2\n"
    )
    assert article.meta == {
        "title": "Salt & sand",
        "pmcid": "77",
        "doi": "10.1/x",
        "journal": "Sea Letters",
        "year": 2019,
        "licence": "CC-BY-4.0",
    }


def test_formulas_stand_once(tmp_path: Path) -> None:
    body = (
        "<article><body><p>So <inline-formula><alternatives><tex-math>\\begin{document}$x^2$"
        "\\end{document}</tex-math><mml:math xmlns:mml='m'><mml:mi>x</mml:mi></mml:math>"
        "</alternatives></inline-formula> is.</p></body></article>"
    )
    write(tmp_path, {"a.xml": body})
    (article,) = documents(read("pmc_xml", tmp_path))
    assert article.text == "So $x^2$ is.\n"


def test_several_articles_in_one_file(tmp_path: Path) -> None:
    one = "<article><body><p>{}</p></body></article>"
    write(tmp_path, {"s.xml": f"<pmc-articleset>{one.format(1)}{one.format(2)}</pmc-articleset>"})
    assert [(d.id[-2:], d.text) for d in documents(read("pmc_xml", tmp_path))] == [
        (":1", "1\n"),
        (":2", "2\n"),
    ]


def test_abstracts(tmp_path: Path) -> None:
    write(tmp_path, {"m.xml": MEDLINE})
    records = read("pubmed_abstracts", tmp_path)
    (document,) = documents(records)
    assert document.text == "Of fish.\nAIM: To swim.\nThey swam." and document.id.endswith(":11")
    assert document.meta == {"pmid": "11", "title": "Of fish.", "journal": "J", "year": 1999}
    assert reasons(records) == ["no abstract", "no MedlineCitation with an Article"]


def test_books_of_pubmed_are_told(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"m.xml": "<PubmedArticleSet><PubmedBookArticle>é</PubmedBookArticle></PubmedArticleSet>"},
    )
    (record,) = read("pubmed_abstracts", tmp_path)
    assert (record.reason, record.size_bytes) == ("a book, not an article", 2)  # type: ignore[union-attr]


def test_a_dump_cut_short_gives_what_it_held(tmp_path: Path) -> None:
    write(tmp_path, {"m.xml": MEDLINE[: MEDLINE.index("<PMID>13")]})
    records, error = read_broken("pubmed_abstracts", tmp_path)
    assert [d.id[-2:] for d in documents(records)] == ["11"] and "cut short" in error
    assert str(tmp_path / "m.xml") in error
