package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Words are a typed search: a text, and words that narrow the search.
//
//	webhook project:payments tool:Bash since:7d role:user failed
//
// A word in quotes, or behind a backslash, is text. The quotes go then; others are text.
type Words struct {
	// Text is the rest besides the words.
	Text string
	// Project is a part of a project's path, Agent names the kind of sessions, and Tool a tool that is called. Role is
	// a role in the framework's word. File is the whole path of a file or its last names, whose changes are searched for
	// instead of texts. An empty one narrows nothing.
	Project, Agent, Tool, Role, File string
	// Since is when sessions changed at the earliest, zero for any time.
	Since time.Time
	// Failed keeps the results of calls that failed, and Left the texts that no snapshot on the active path has.
	Failed, Left bool
	// Spans are the words, in order.
	Spans []Word
}

// Word is a word that narrows a search: typed[From:To]. Name is one of [WordNames], and Value stands behind its
// colon.
type Word struct {
	From, To    int
	Name, Value string
}

// wordFile is the word that names a file.
const wordFile = "file:"

// WordNames returns the words that narrow a search. A word with a colon has a value.
func WordNames() []string {
	return []string{"project:", "tool:", "since:", "role:", wordFile, "failed", "left"}
}

// WordError is the mistake in a word that narrows a search.
type WordError struct {
	Word
	Err error
}

// Error returns a message with the word, the mistake and the words that exist.
func (e *WordError) Error() string {
	return fmt.Sprintf("%.60q: %v (words: %s; in quotes it is text)", e.Name+e.Value, e.Err, strings.Join(WordNames(), " "))
}

// Unwrap returns the mistake.
func (e *WordError) Unwrap() error { return e.Err }

// ParseWords parses a typed search. tool: names an agent where the value is one of kinds, or the first
// part of one as claude is of claude-code; else a tool that is called. The words failed and left have no colon;
// they and file: are text where bare is false. Since is counted from now. The error is a *[WordError]; the words before it are parsed.
func ParseWords(typed string, kinds []string, bare bool, now time.Time) (Words, error) {
	var w Words
	var text strings.Builder
	var wrong error
	isText := true // of the piece before the gap
	for at := 0; at < len(typed); {
		piece := strings.TrimLeftFunc(typed[at:], unicode.IsSpace)
		from := len(typed) - len(piece)
		gap := typed[at:from]
		to, quoted := endOfPiece(typed, from)
		piece, at = typed[from:to], to
		if word, is := parseWord(piece, bare); is {
			word.From, word.To = from, to
			w.Spans, isText = append(w.Spans, word), false
			if err := w.add(word, kinds, now); err != nil && wrong == nil {
				wrong = &WordError{word, err}
			}
			continue
		}
		if isText || piece != "" && text.Len() > 0 {
			text.WriteString(gap)
		}
		isText = true
		switch inner, escaped := strings.CutPrefix(piece, `\`); {
		case quoted && hasWord(piece[1:len(piece)-1], bare):
			piece = piece[1 : len(piece)-1]
		case escaped && hasWord(inner, bare):
			piece = inner
		}
		text.WriteString(piece)
	}
	w.Text = text.String()
	if i := slices.IndexFunc(w.Spans, func(word Word) bool { return word.Name == wordFile }); i >= 0 && wrong == nil &&
		(strings.TrimSpace(w.Text) != "" || w.Tool != "" || w.Role != "" || w.Failed) {
		wrong = &WordError{w.Spans[i], errors.New("only project:, tool: of an agent, since: and left go with it")}
	}
	return w, wrong
}

// endOfPiece returns where a piece of a typed text ends, and whether all of it is in quotes.
func endOfPiece(typed string, from int) (to int, quoted bool) {
	open := false
	for i, r := range typed[from:] {
		switch {
		case r == '"' && i == 0, r == '"' && !open && typed[from+i-1] == ':':
			open = strings.IndexByte(typed[from+i+1:], '"') >= 0
			quoted = open && i == 0
		case r == '"' && open:
			open = false
			quoted = quoted && (from+i+1 == len(typed) || strings.IndexFunc(typed[from+i+1:], unicode.IsSpace) == 0)
		case unicode.IsSpace(r) && !open:
			return from + i, quoted
		}
	}
	return len(typed), quoted
}

// parseWord returns the word that a piece is.
func parseWord(piece string, bare bool) (word Word, ok bool) {
	for _, name := range WordNames() {
		if !strings.HasSuffix(name, ":") {
			if bare && piece == name {
				return Word{Name: name}, true
			}
			continue
		}
		if name == wordFile && !bare {
			continue
		}
		if value, is := strings.CutPrefix(piece, name); is && !strings.HasPrefix(value, ":") { // since::now is code
			if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1]
			}
			return Word{Name: name, Value: value}, true
		}
	}
	return word, false
}

// hasWord reports whether a text has a word in it.
func hasWord(text string, bare bool) bool {
	return slices.ContainsFunc(strings.Fields(text), func(piece string) bool {
		_, is := parseWord(piece, bare)
		return is
	})
}

// add takes a word in.
func (w *Words) add(word Word, kinds []string, now time.Time) (err error) {
	to := map[string]*string{"project:": &w.Project, "role:": &w.Role, "tool:": &w.Tool, wordFile: &w.File}[word.Name]
	if word.Name == "tool:" && slices.ContainsFunc(kinds, func(kind string) bool { return IsAgent(kind, word.Value) }) {
		to = &w.Agent
	}
	switch {
	case word.Name == "failed":
		w.Failed = true
	case word.Name == "left":
		w.Left = true
	case word.Value == "":
		return fmt.Errorf("nothing is behind the colon")
	case to == nil && w.Since.IsZero():
		w.Since, err = ParseSince(word.Value, now)
	case to == nil || *to != "":
		return fmt.Errorf("the word is there twice")
	default:
		*to = word.Value
	}
	return err
}

// IsAgent reports whether a kind of sessions is of an agent's name: the kind, or its first parts as claude is of
// claude-code, in letters of either case.
func IsAgent(kind, name string) bool {
	return len(name) <= len(kind) && name != "" && strings.EqualFold(kind[:len(name)], name) && (len(name) == len(kind) || kind[len(name)] == '-')
}
