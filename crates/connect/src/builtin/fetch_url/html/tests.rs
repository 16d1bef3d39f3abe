use super::*;

#[track_caller]
fn check(page: &str, expected: &str) {
    let base = Url::parse("https://example.com/docs/page").unwrap();
    assert_eq!(to_text(page, &base, 10_000), expected);
}

#[test]
fn blank_space_is_collapsed_and_blocks_are_lines() {
    check("  a \n\t b<b>c</b> <i>d</i>e ", "a bc de");
    check("<p>one<p>two</p>three<div>four</div>", "one\n\ntwo\n\nthree\nfour");
    check("a<br>b<br/><br>c", "a\nb\nc");
    check("<div><div><div>deep</div></div></div>", "deep");
    check("a<hr>b", "a\n\n---\n\nb");
    check("", "");
}

#[test]
fn headings_lists_tables_and_code_keep_their_form() {
    check("<h1>Top</h1><h3>Sub</h3>text", "# Top\n\n### Sub\n\ntext");
    check("x<ul><li>a<li>b<ul><li>c</ul></ul>y", "x\n\n- a\n- b\n  - c\n\ny");
    check("<table><tr><th>k<th>v<tr><td>a<td>1</table>", "k | v\na | 1");
    check("<pre>fn x() {\n    y\n}</pre>z", "fn x() {\n    y\n}\n\nz");
}

#[test]
fn the_title_comes_first_and_once() {
    check("<title> A &amp;\n B </title><p>x", "# A & B\n\nx");
    check("<title>A</title><h1>A</h1>x", "# A\n\nx");
}

#[test]
fn what_is_not_for_reading_is_left_out() {
    check("a<script>if (1 < 2) '<p>'</script><style>p{}</style>b", "ab");
    check("a<!-- c --><svg><title>no</title><svg></svg>no</svg><template>no</template>b", "ab");
    check("a<noscript><p>on</noscript><iframe>x</iframe>b", "ab");
    check("a<script>never closed", "a");
    check("<img alt=' a cat '><img alt=''><img>", "[image: a cat]");
}

#[test]
fn links_show_where_they_lead() {
    check("see <a href='/x'>the <b>x</b></a>.", "see [the x](https://example.com/x).");
    check("<a href='other#f'>o</a>", "[o](https://example.com/docs/other#f)");
    check("<a href='#top'>here</a> <a>no</a> <a href='javascript:x()'>js</a>", "here no js");
    check("<a href='/x'></a>a<a href='/y'> b </a>c", "a [b](https://example.com/y) c");
    check("<a href='/x'>a<a href='/y'>b", "[a](https://example.com/x)[b](https://example.com/y)");
    check("<p>a</p><a href='/x'><div>b</div></a>c", "a\n\n[b](https://example.com/x)\nc");
}

#[test]
fn entities_are_decoded_and_broken_pages_are_read() {
    check("&lt;b&gt; &eacute; &#x1F600; &nosuch;", "<b> é 😀 &nosuch;");
    check("<p <b>x</p></p></div></ul></a>y", "x\n\ny");
    check("a < b <> </> <3", "a < b <> <3");
}

#[test]
fn depth_and_length_have_no_power() {
    let base = Url::parse("https://example.com/").unwrap();
    let deep = format!("{}x", "<div><ul><li><a href=/y>".repeat(200_000));
    assert!(to_text(&deep, &base, 1_000).len() < 10_000);
    assert_eq!(to_text(&format!("{}x", "<b>".repeat(1_000_000)), &base, 1_000), "x");
    assert!(to_text(&"word ".repeat(1_000_000), &base, 1_000).chars().count() >= 1_000);
}
