package coding

import (
	"path"
	"path/filepath"
	"strings"
	"unicode"
)

// Command returns words as a command for a POSIX shell, run in a folder; "" for wherever
// the shell is. The words may come from a file: each is quoted where it is not plain. A
// folder that is no absolute path, or is not printable, is left out.
func Command(dir string, words ...string) string {
	text := ""
	if (path.IsAbs(dir) || filepath.IsAbs(dir)) && strings.IndexFunc(dir, isNotPrintable) < 0 {
		text = "cd " + quote(dir) + " && "
	}
	for i, word := range words {
		if i > 0 {
			text += " "
		}
		text += quote(word)
	}
	return text
}

func isNotPrintable(r rune) bool { return !unicode.IsPrint(r) }

// quote returns a word as a shell reads it.
func quote(word string) string {
	special := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:=@%+,", r))
	}
	if word != "" && strings.IndexFunc(word, special) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
