package diff

import (
	"cmp"
	"fmt"
	"strings"

	"hindcast/model/conversation"
	"hindcast/model/filechange"
	"hindcast/model/jsontape"
)

// maxEdit bounds the bytes of a value in which an edit is looked for.
const maxEdit = 1 << 20

// patchNames are the names that tools have for a patch.
var patchNames = []string{"patch", "patchText", "patch_text", "input", "diff", "command", "cmd", "script"}

// Edits returns the edit of files that a value of a tool asks for or tells of, in the lines of a unified diff; "" for
// any other value. A patch is returned as it is spelled. It is untrusted.
//
//	{file_path, old_string, new_string}     Claude Code, and the same by the names of others
//	{path, edits: [{oldText, newText}]}     several edits of a file
//	{filePath, structuredPatch: [{lines}]}  what Claude Code records as the result
//	"*** Begin Patch …", "--- a\n+++ b\n@@ …"  patches, alone, in an object or in a command
func Edits(t *jsontape.Tape, n jsontape.Node) string {
	if n < 0 || len(t.Raw(n)) > maxEdit {
		return ""
	}
	switch t.Kind(n) {
	case jsontape.String:
		if text := t.Text(n); IsPatch(text) {
			return text
		}
	case jsontape.Array:
		for c := t.First(n); c >= 0; c = t.Next(c) {
			if t.Kind(c) == jsontape.String && IsPatch(t.Text(c)) {
				return t.Text(c)
			}
		}
	case jsontape.Object:
		return objectEdits(t, n)
	}
	return ""
}

// EditSummary returns the file that an edit names first, and how many lines the edit adds and removes. The file is
// untrusted, and "" where none is named.
func EditSummary(edits string) (file string, added, removed int) {
	for line := range strings.Lines(edits) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "*** Begin"):
		case strings.HasPrefix(line, "*** "), strings.HasPrefix(line, "+++ "):
			if file == "" {
				_, name, _ := strings.Cut(line, ": ") // "*** Update File: a.go"
				file = cmp.Or(name, line[len("*** "):])
			}
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return file, added, removed
}

// IsPatch reports whether a text holds a patch: a unified diff, or one of Codex.
func IsPatch(text string) bool {
	if strings.Contains(text, "*** Begin Patch\n") {
		return true
	}
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "\n+++ ")
		if !found {
			return false
		}
		if _, next, _ := strings.Cut(after, "\n"); strings.HasPrefix(next, "@@ -") {
			return true
		}
		rest = after
	}
}

func objectEdits(t *jsontape.Tape, n jsontape.Node) string {
	for _, name := range patchNames {
		if c := t.Find(n, name); c >= 0 && t.Kind(c) != jsontape.Object {
			if text := Edits(t, c); text != "" {
				return text
			}
		}
	}
	var out strings.Builder
	out.Write(filechange.AppendHunks(nil, filechange.HunksOf(t, t.Find(n, "structuredPatch"))))
	if out.Len() == 0 {
		writeEdit(&out, t, n)
	}
	if edits := t.Find(n, "edits"); out.Len() == 0 && t.Kind(edits) == jsontape.Array {
		for c := t.First(edits); c >= 0; c = t.Next(c) {
			writeEdit(&out, t, c)
		}
	}
	if out.Len() == 0 {
		return ""
	}
	if path := findText(t, n, conversation.PathNames); path >= 0 {
		return "*** " + strings.ReplaceAll(t.Text(path), "\n", " ") + "\n" + out.String()
	}
	return out.String()
}

// findText returns the first string member with one of the names, or None.
func findText(t *jsontape.Tape, n jsontape.Node, names []string) jsontape.Node {
	for _, name := range names {
		if c := t.Find(n, name); t.Kind(c) == jsontape.String {
			return c
		}
	}
	return jsontape.None
}

// writeEdit writes the edit of an object that has a text and the text in its place.
func writeEdit(out *strings.Builder, t *jsontape.Tape, n jsontape.Node) {
	from, to := findText(t, n, conversation.OldNames), findText(t, n, conversation.NewNames)
	if from >= 0 && to >= 0 {
		writeLines(out, t.Text(from), t.Text(to))
	}
}

// TextLines returns how a text became another, in the lines of a unified diff without places; lines far from any change
// are left out. It is untrusted.
func TextLines(old, new string) string {
	var out strings.Builder
	writeLines(&out, old, new)
	return out.String()
}

// writeLines writes how a text became another, in lines with a sign, and says how many it leaves out. Their place in
// the file is not known.
func writeLines(out *strings.Builder, old, new string) {
	old = endLine(old)
	out.WriteString("@@\n")
	told := 0
	leaveOut := func(to int) {
		if to > told {
			fmt.Fprintf(out, "@@ %d lines as before\n", to-told)
		}
	}
	for _, h := range filechange.Compare(old, endLine(new)) {
		size, _ := h.Size()
		from := h.Old - min(size, 1) // without a line of the old text it names the one before
		leaveOut(from)
		for _, line := range h.Lines {
			out.WriteString(line + "\n")
		}
		told = from + size
	}
	leaveOut(strings.Count(old, "\n"))
}

// endLine returns a text whose last line has an end.
func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
