"""A miniature of each raw kind, true to its specification, as the text of a file."""

from __future__ import annotations

PAPER = r"""\documentclass{article} % a comment
\title{On \emph{Waves}}
\author{A. Writer}
\begin{document}
\maketitle
% all of this line goes
Half of the sea is 50\% deep. % and this end
\input{sections/one}
\begin{verbatim}
100% stays
\end{verbatim}
\end{document}
never seen
"""
ARTICLE = """<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS 1.1//EN" "JATS-archivearticle1.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink"><front>
<journal-meta><journal-title-group><journal-title>Sea Letters</journal-title>
</journal-title-group></journal-meta>
<article-meta><article-id pub-id-type="pmc">77</article-id><article-id pub-id-type="doi">10.1/x
</article-id><title-group><article-title>Salt &amp; <italic>sand</italic></article-title>
</title-group><contrib-group><contrib><name><surname>Nobody</surname></name></contrib>
</contrib-group><pub-date><year>2019</year></pub-date><permissions><license
 xlink:href="http://creativecommons.org/licenses/by/4.0/"><license-p>Open.</license-p></license>
</permissions><abstract><p>Short words.</p></abstract></article-meta></front>
<body><sec><title>Methods</title><p>We took 10<sup>5</sup> grains <xref>[1]</xref>.</p>
<sec><title>Sieve</title><list><list-item><p>fine</p></list-item><list-item><p>coarse</p>
</list-item></list></sec></sec><sec><title>Results</title>
<table-wrap><label>T1</label><caption><p>Sizes</p></caption><table><tr><th>a</th><th>b</th></tr>
<tr><td>1</td><td>2</td></tr></table></table-wrap></sec></body>
<back><ref-list><ref>Gone et al.</ref></ref-list></back></article>
"""
MEDLINE = """<?xml version="1.0" encoding="utf-8"?>
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID Version="1">11</PMID><Article><Journal><JournalIssue>
<PubDate><Year>1999</Year></PubDate></JournalIssue><Title>J</Title></Journal>
<ArticleTitle>Of <i>fish</i>.</ArticleTitle><Abstract>
<AbstractText Label="AIM">To swim.</AbstractText><AbstractText>They swam.</AbstractText>
<CopyrightInformation>not this</CopyrightInformation></Abstract></Article></MedlineCitation>
</PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>12</PMID><Article><ArticleTitle>No words</ArticleTitle>
</Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>13</PMID></MedlineCitation></PubmedArticle>
<DeleteCitation><PMID>3</PMID></DeleteCitation>
</PubmedArticleSet>
"""
# The second answer stands before its question, as edited dumps have it.
POSTS = """<?xml version="1.0" encoding="utf-8"?>
<posts>
  <row Id="5" PostTypeId="2" ParentId="7" Score="9" Body="&lt;p&gt;Early.&lt;/p&gt;" />
  <row Id="1" PostTypeId="1" Score="4" Title="Why salt?" Tags="&lt;sea&gt;&lt;salt&gt;"
   Body="&lt;p&gt;Is it &lt;b&gt;salty&lt;/b&gt;?&lt;/p&gt;" ContentLicense="CC BY-SA 4.0"/>
  <row Id="2" PostTypeId="2" ParentId="1" Score="3" Body="&lt;p&gt;Third.&lt;/p&gt;" />
  <row Id="3" PostTypeId="2" ParentId="1" Score="8" Body="&lt;p&gt;First.&lt;/p&gt;" />
  <row Id="4" PostTypeId="2" ParentId="1" Score="2" Body="&lt;p&gt;Too low.&lt;/p&gt;" />
  <row Id="6" PostTypeId="4" Score="0" Body="a tag's excerpt" />
  <row Id="7" PostTypeId="1" Score="0" Title="Late" Body="&lt;p&gt;Q7&lt;/p&gt;" />
  <row Id="8" PostTypeId="1" Score="0" Title="Alone" Body="&lt;p&gt;Q8&lt;/p&gt;" />
  <row Id="9" PostTypeId="2" ParentId="99" Score="7" Body="&lt;p&gt;Orphan&lt;/p&gt;" />
  <row Id="10" PostTypeId="2" ParentId="1" Score="5" Body="&lt;p&gt;Second.&lt;/p&gt;" />
  <row Id="11" PostTypeId="2" ParentId="1" Score="3" Body="&lt;p&gt;Fourth.&lt;/p&gt;" />
</posts>
"""
BOOK = """The Project Gutenberg EBook of Tides, by Ann Author

This eBook is for the use of anyone anywhere.

Title: Tides
       of the North

Author: Ann Author

Release Date: May 3, 2004 [EBook #12]

Language: English

Character set encoding: ISO-8859-1

Original publication: London: Press, 1893

*** START OF THIS PROJECT GUTENBERG EBOOK TIDES ***




Produced by Some Volunteer and the
Online Team



CHAPTER I

The caf\xe9 by the sea.

THE END

End of the Project Gutenberg EBook of Tides, by Ann Author

*** END OF THIS PROJECT GUTENBERG EBOOK TIDES ***

Updated editions will replace the previous one.
"""
MBOX = b"""From ann@example.org Mon Jan  1 00:00:00 2001
From: Ann <ann@example.org>
Subject: =?iso-8859-1?q?Caf=E9?= plans
Date: Mon, 01 Jan 2001 10:00:00 +0000
Message-ID: <1@example.org>
Content-Type: text/plain; charset=iso-8859-1
Content-Transfer-Encoding: quoted-printable

Meet at the caf=E9.

>From here it is near.

From bob@example.org Tue Jan  2 00:00:00 2001
From: Bob <bob@example.org>
Subject: Two forms
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b1

--b1
Content-Type: multipart/alternative; boundary=b2

--b2
Content-Type: text/html

<p>Rich</p>
--b2
Content-Type: text/plain

Plain
--b2--
--b1
Content-Type: text/plain
Content-Disposition: attachment; filename=secret.txt

attached
--b1--
"""
PATENT = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE us-patent-grant SYSTEM "us-patent-grant-v45-2014-04-03.dtd" [ ]>
<us-patent-grant lang="EN"><us-bibliographic-data-grant><publication-reference><document-id>
<country>US</country><doc-number>0{number}</doc-number><kind>B2</kind><date>20150106</date>
</document-id></publication-reference><invention-title>Net</invention-title>
</us-bibliographic-data-grant><description>
<heading>CROSS-REFERENCE TO RELATED APPLICATIONS</heading><p>Claims priority of another.</p>
<heading>{heading}</heading><p num="1">Nets have long been woven by hand from cord of many kinds of
plant<sub>2</sub>, as fishers know.</p><heading>Description of the Related Art</heading>
<p>FIG. <b>1</b> of an older patent shows one.</p>
<heading>SUMMARY</heading><p>Ours is better.</p></description></us-patent-grant>
"""
WIKI = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="de">
<siteinfo><namespaces><namespace key="0"/><namespace key="6">Datei</namespace>
<namespace key="14">Kategorie</namespace></namespaces></siteinfo>
<page><title>Sea</title><ns>0</ns><id>1</id><revision><id>91</id><model>wikitext</model>
<text xml:space="preserve">{{Infobox|x={{y}}}}'''Sea''' is [[water|salt water]]&lt;ref>no&lt;/ref>.

== Fish ==
* [[Cod]]s and &amp;amp; more [https://example.org out]
[[Datei:x.png|thumb|A [[picture]]]]

=== Empty ===

== Nothing ==
{| class="t"
| cell
|}
[[Kategorie:Water]] [[fr:Mer]]</text></revision></page>
<page><title>See</title><ns>0</ns><id>2</id><redirect title="Sea"/><revision>
<text>#REDIRECT [[Sea]]</text></revision></page>
<page><title>Talk:Sea</title><ns>1</ns><id>3</id><revision><text>chat</text></revision></page>
<page><title>Module</title><ns>0</ns><id>4</id><revision><model>Scribunto</model>
<text>return 1</text></revision></page>
</mediawiki>
"""
NEWS = [
    {"id": 1, "type": "story", "by": "ann", "title": "Sea", "url": "http://s.example", "score": 7},
    {"id": 4, "type": "comment", "by": "cy", "text": "<p>Deep.</p>", "parent": 3},
    {"id": 3, "type": "comment", "by": "bob", "text": "Salt&#x27;s good", "parent": 1},
    {"id": 5, "type": "comment", "by": "di", "text": "Second", "parent": 1},
    {"id": 6, "type": "comment", "deleted": True, "parent": 1},
    {"id": 7, "type": "comment", "by": "ed", "text": "Below", "parent": 6},
    {"id": 8, "type": "story", "by": "fay", "title": "Nobody spoke"},
    {"id": 9, "type": "comment", "by": "gil", "text": "Lost", "parent": 999},
    {"id": 10, "type": "comment", "by": "hal", "text": "Own parent", "parent": 10},
]
OPINIONS = [
    {"id": 1, "plain_text": "It is so ordered.", "html": "<p>other</p>", "court": "ca1"},
    {"id": 2, "plain_text": " ", "html_lawbox": "<p>The <i>court</i> holds.</p>"},
    {"id": 3, "plain_text": "", "html": "<p> </p>"},
]
LINKS = [
    {"url": "https://www.sea.example/a?utm_source=x#top", "score": 5, "title": "A"},
    {"url": "http://sea.example/a/", "score": 9, "title": "A again"},
    {"url": "http://sea.example/low", "score": 2},
    {"url": "ftp://sea.example/x", "score": 9},
    {"url": "http://sea.example/unfetched", "score": 3, "title": "U"},
    {"url": "http://sea.example/y", "score": "many"},
]
PAGES = [
    {"url": "http://sea.example/a", "html": "<p>Page <b>a</b></p>"},
    {"url": "https://sea.example/a/", "text": "the same once more"},
    {"url": "http://sea.example/other", "text": "no link leads here"},
]
CONTAINER = """<?xml version="1.0"?><container version="1.0"
 xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>"""
PACKAGE = """<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="2.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Tides</dc:title>
<dc:creator>Ann Author</dc:creator><dc:creator>Bob Other</dc:creator>
<dc:language>en</dc:language><dc:date>1893-05-01</dc:date></metadata>
<manifest><item id="b" href="two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="../one.xhtml" media-type="application/xhtml+xml"/>
<item id="c" href="x.css" media-type="text/css"/></manifest>
<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine></package>"""
EPUB: dict[str, bytes | str] = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/two b.xhtml": "<html><head><title>x</title></head><body><p>Chapter two</p></html>",
    "one.xhtml": "<html><body><h1>I</h1><p>Chapter one</p></body></html>",
    "OEBPS/x.css": "p {}",
}
SRT = """1\r
00:00:01,000 --> 00:00:02,500\r
<i>The sea.</i>\r
\r
2\r
00:00:02,500 --> 00:00:03,000\r
{\\an8}JOHN: Is 2 < 3?\r
- Yes.\r
\r
3\r
00:00:03,000 --> 00:00:04,000\r
Yes.\r
[waves]\r
"""
VTT = """WEBVTT - a title

STYLE
::cue { color: red }

NOTE about
this

intro
00:01.000 --> 00:02.000 align:start position:0%
<v.loud Mary>Hello &amp; <c.x>welcome</c>

00:02.000 --> 00:03.000
Hello & welcome
to<00:00:02.500> the sea
"""
SITTING = """<CHAPTER ID="1">
Resumption of the session
<SPEAKER ID="1" NAME="President">
I declare it resumed.
<P>
(Applause)
<SPEAKER ID="2" LANGUAGE="FR" NAME="O&apos;Neill, Anne">
Thank you.
"""
IRC_IRSSI = """--- Log opened Sun Jan 02 23:50:00 2005
23:50 -!- ann [a@b] has joined #sea
23:51 <@ann> last of the week
--- Day changed Mon Jan 03 2005
00:01  * bob dives
00:02 < cy> deep
--- Log closed Mon Jan 03 00:10:00 2005
"""
MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy"
