// Package redact takes secrets out of states, so that a session can be shared. It finds
// them by their shape (keys of known services, tokens, private keys, headers, connection
// strings), by the key that they stand under, because they look random, and where its
// user says.
//
//	{"password":"hunter2!","text":"it is hunter2!"}
//	{"password":"[redacted key 1]","text":"it is [redacted key 1]"}
//
// States are read twice. The first reading gathers the secrets, the second hides each of
// them wherever it stands: in texts after escapes are undone, in keys, in JSON within
// texts. A secret has the same word everywhere, so that what differs between two states
// still does, and what is equal still is. All other bytes of a state stay.
//
// What cannot be read is refused, never passed on. What was hidden is listed by place and
// kind, without the secret.
package redact

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hindcast/model/jsontape"
)

const (
	// leastSpread is the length from which a secret is hidden wherever it stands: shorter
	// ones are parts of other words.
	leastSpread = 6
	// mostSecrets bounds the secrets of one redaction, in bytes; mostSpread is how many are
	// looked for wherever they may stand, and mostSpelled the length of one that is looked
	// for in other spellings, too.
	mostSecrets = 64 << 20
	mostSpread  = 50_000
	mostSpelled = 1 << 10
	// mostPlaces bounds the places that are listed.
	mostPlaces = 10_000
	// memoBytes bounds what is remembered of texts, which stand in state after state, and
	// memoCost is what one of them costs besides its bytes.
	memoBytes = 32 << 20
	memoCost  = 64
	// mostNested is how deep JSON may stand in texts of JSON.
	mostNested = 8
	// mostRounds is how often a text is looked at until nothing is found in it any more.
	mostRounds = 8
)

var (
	// ErrTooMany: there are more secrets than memory is taken for.
	ErrTooMany = fmt.Errorf("more than %d secrets, or %d MB of them: share a part, with --only", mostSpread, mostSecrets>>20)
	// ErrRemains: a text has a secret again and again, as with an expression that fits
	// whatever it is replaced by.
	ErrRemains = errors.New("a text still has a secret after it was hidden")
	// ErrNested: JSON in texts of JSON is nested too deeply to be looked into.
	ErrNested = errors.New("JSON is nested in texts too deeply")
)

// UnmetError says that what the user named is nowhere in the states. A word that is
// misspelled would let the secret out.
type UnmetError struct{ What, Text string }

func (e *UnmetError) Error() string {
	return fmt.Sprintf("%s %.200q fits nothing in what is shared", e.What, e.Text)
}

// Options are what the user says besides.
type Options struct {
	// Paths are JSON Pointers of values that are hidden whole. The token * stands for
	// each member and each element.
	Paths []string
	// Patterns are regular expressions. What one matches in a text or a key is hidden.
	Patterns []string
}

// Redactor hides secrets. It is not safe for concurrent use.
type Redactor struct {
	rules   []rule
	paths   [][]string
	options Options
	met     []bool // of the paths, then of the patterns

	secrets map[string]secret
	bytes   int
	// first is behind the numbers of the words that the states have already.
	first    int
	learning bool
	replacer *strings.Replacer

	memo      map[string]string
	memoBytes int

	places map[place]map[int]bool
}

// secret is one that was found: the kind by which it was found first, and its number from 0.
type secret struct {
	kind   string
	number int
}

// place is where secrets of a kind were hidden.
type place struct{ path, kind string }

// Finding says where secrets of one kind were hidden, and how many different ones.
type Finding struct {
	// Path is the place in the states, a JSON Pointer in which * stands for each element of
	// an array; or the name of another part of a snapshot, without a slash.
	Path string `json:"path"`
	// Kind is one word: that of a shape, or key, path, regex, entropy.
	Kind string `json:"kind"`
	// Secrets counts the different secrets.
	Secrets int `json:"secrets"`
}

// New returns a Redactor, which learns secrets before it hides them. The error is about a
// path or a pattern.
func New(o Options) (*Redactor, error) {
	r := &Redactor{options: o, secrets: map[string]secret{}, learning: true, memo: map[string]string{}, places: map[place]map[int]bool{}, met: make([]bool, len(o.Paths)+len(o.Patterns))}
	for _, path := range o.Paths {
		if !strings.HasPrefix(path, "/") {
			return nil, fmt.Errorf("%.80q is no JSON Pointer of a value in a state: it does not begin with /", path)
		}
		var tokens []string
		for token := range strings.SplitSeq(path[1:], "/") {
			tokens = append(tokens, jsontape.PointerKey(token))
		}
		r.paths = append(r.paths, tokens)
	}
	for _, pattern := range o.Patterns {
		re, err := regexp.Compile(`(?:` + pattern + `)`)
		if err != nil {
			return nil, fmt.Errorf("%.80q is no regular expression: %w", pattern, err)
		}
		if re.MatchString("") {
			return nil, fmt.Errorf("the regular expression %.80q fits the empty text", pattern)
		}
		re = regexp.MustCompile(`(` + pattern + `)`) // all of a match is hidden, whatever groups there are
		r.rules = append(r.rules, rule{"regex", nil, re})
	}
	r.rules = append(r.rules, rules...)
	return r, nil
}

// Learn gathers the secrets of a state. All states are learned before one is hidden. The
// errors are those of State.
func (r *Redactor) Learn(state []byte) error {
	_, err := r.state(state, 0)
	return err
}

// Learned ends the learning. The errors are an [UnmetError] and [ErrTooMany].
func (r *Redactor) Learned() error {
	for i, met := range r.met {
		switch {
		case met:
		case i < len(r.options.Paths):
			return &UnmetError{"the path", r.options.Paths[i]}
		default:
			return &UnmetError{"the regular expression", r.options.Patterns[i-len(r.options.Paths)]}
		}
	}
	spread := slices.DeleteFunc(slices.Collect(maps.Keys(r.secrets)), func(text string) bool {
		kind := r.secrets[text].kind
		// Those of two kinds are found wherever they stand.
		return len(text) < leastSpread || kind == "entropy" || kind == "private-key" || strings.HasPrefix(text, hashed)
	})
	if len(spread) > mostSpread {
		return ErrTooMany
	}
	slices.SortFunc(spread, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	pairs := make([]string, 0, 2*len(spread))
	for _, text := range spread {
		word := r.word(r.secrets[text])
		pairs = append(pairs, text, word)
		if len(text) <= mostSpelled {
			for _, spelled := range spellings(text) {
				pairs = append(pairs, spelled, word)
			}
		}
	}
	r.learning, r.replacer = false, strings.NewReplacer(pairs...)
	r.memo, r.memoBytes = map[string]string{}, 0
	return nil
}

// spellings returns how a text stands in a piece of JSON, in a piece of that in JSON, and in a
// URL, where that differs.
func spellings(text string) (list []string) {
	for _, html := range []bool{true, false} { // the letters of HTML are escaped or not
		in := text
		for range 2 {
			var quoted strings.Builder
			to := json.NewEncoder(&quoted)
			to.SetEscapeHTML(html)
			_ = to.Encode(in) // a text and a strings.Builder fail at nothing
			in = strings.TrimSuffix(quoted.String()[1:], "\"\n")
			list = append(list, in)
		}
	}
	list = append(list, url.QueryEscape(text), url.PathEscape(text))
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(spelled string) bool { return spelled == text })
}

// State returns a state without its secrets; the same slice where it has none. The error is a
// *jsontape.SyntaxError where the state is no JSON, [ErrTooMany], [ErrRemains] or
// [ErrNested].
func (r *Redactor) State(state []byte) ([]byte, error) { return r.state(state, 0) }

// Text returns a text from beside a state, such as a title, without its secrets. What was
// hidden is listed under a name.
func (r *Redactor) Text(name, text string) (string, error) {
	out, err := r.text(text, 0)
	if err == nil && out != text {
		r.note(name, text, out)
	}
	return out, err
}

// Findings returns what was hidden, by place and kind.
func (r *Redactor) Findings() []Finding {
	var list []Finding
	for at, numbers := range r.places {
		list = append(list, Finding{at.path, at.kind, len(numbers)})
	}
	slices.SortFunc(list, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Kind, b.Kind))
	})
	return list
}

// state hides the secrets of a JSON text, which is a state or stands in a text.
func (r *Redactor) state(data []byte, nested int) ([]byte, error) {
	if nested > mostNested {
		return nil, ErrNested
	}
	t, err := jsontape.Parse(data)
	if err != nil {
		return nil, err
	}
	whole := map[jsontape.Node]bool{}
	if nested == 0 {
		for i, path := range r.paths {
			if r.resolve(t, 0, path, whole) {
				r.met[i] = true
			}
		}
	}
	var out []byte
	done := 0
	put := func(from, to int, text string) {
		out = append(out, data[done:from]...)
		out = jsontape.AppendQuoted(out, text)
		done = to
	}
	under := jsontape.Node(0) // the end of the value of a key that names a secret
	for n := jsontape.Node(0); int(n) < t.Len(); n++ {
		if from, to := t.KeySpan(n); to > 0 {
			key := t.Key(n)
			hidden, err := r.text(key, nested)
			if err != nil {
				return nil, err
			}
			if hidden != key {
				put(from, to, hidden)
				if err := r.noteAt(t, t.Parent(n), nested, key, hidden); err != nil {
					return nil, err
				}
			}
			if isSecretKey(key) {
				under = max(under, t.End(n))
			}
		}
		from, to := t.Span(n)
		if whole[n] {
			if err := r.learnBelow(t, n); err != nil {
				return nil, err
			}
			word, err := r.hide(valueText(t, n), "path")
			if err != nil {
				return nil, err
			}
			put(from, to, word)
			if err := r.noteAt(t, n, nested, "", word); err != nil {
				return nil, err
			}
			n = t.End(n) - 1
			continue
		}
		var text, hidden string
		switch t.Kind(n) {
		case jsontape.String:
			text = t.Text(n)
		case jsontape.Number:
			text = string(t.Raw(n))
		default:
			continue
		}
		switch _, met := r.secrets[text]; {
		case n < under && text != "" && !isWord(text):
			hidden, err = r.hide(text, "key")
		case t.Kind(n) == jsontape.String:
			hidden, err = r.text(text, nested)
		case met && len(text) >= leastSpread:
			hidden, err = r.hide(text, "key")
		default:
			hidden = text
		}
		if err != nil {
			return nil, err
		}
		if hidden != text {
			put(from, to, hidden)
			if err := r.noteAt(t, n, nested, text, hidden); err != nil {
				return nil, err
			}
		}
	}
	if out == nil {
		return data, nil
	}
	return append(out, data[done:]...), nil
}

// valueText returns what a value is known by: the text of a string or a number. A container is
// known by a hash of it, because it may be large and what is in it is hidden by itself.
func valueText(t *jsontape.Tape, n jsontape.Node) string {
	switch t.Kind(n) {
	case jsontape.String:
		return t.Text(n)
	case jsontape.Array, jsontape.Object:
		sum := sha256.Sum256(t.Raw(n))
		return hashed + string(sum[:])
	}
	return string(t.Raw(n))
}

// hashed begins a hash among the texts.
const hashed = "\x00\x00sha256\x00"

// learnBelow learns the texts in a value that is hidden whole.
func (r *Redactor) learnBelow(t *jsontape.Tape, n jsontape.Node) error {
	for m := n; r.learning && m < t.End(n); m++ {
		if kind := t.Kind(m); kind == jsontape.String || kind == jsontape.Number {
			if text := valueText(t, m); text != "" && !isWord(text) {
				if _, err := r.hide(text, "path"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// resolve gathers the values to which a path leads from n, and reports whether there are any.
// A key that is there twice leads to both.
func (r *Redactor) resolve(t *jsontape.Tape, n jsontape.Node, path []string, found map[jsontape.Node]bool) bool {
	if len(path) == 0 {
		found[n] = true
		return true
	}
	met := false
	for c, i := t.First(n), 0; c != jsontape.None; c, i = t.Next(c), i+1 {
		fits := path[0] == "*"
		if t.Kind(n) == jsontape.Array {
			fits = fits || path[0] == strconv.Itoa(i)
		} else {
			fits = fits || path[0] == t.Key(c)
		}
		if fits && r.resolve(t, c, path[1:], found) {
			met = true
		}
	}
	return met
}

// word is what stands in the place of a secret.
func (r *Redactor) word(s secret) string {
	return "[redacted " + s.kind + " " + strconv.Itoa(r.first+s.number+1) + "]"
}

// words finds the words that stand for secrets.
var words = regexp.MustCompile(`\[redacted ([a-z-]{1,20}) ([0-9]{1,12})\]`)

func isWord(text string) bool {
	at := words.FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text)
}

// hide returns the word that stands for a secret.
func (r *Redactor) hide(text, kind string) (string, error) {
	s, there := r.secrets[text]
	if !there {
		if r.bytes += len(text); r.bytes > mostSecrets {
			return "", ErrTooMany
		}
		s = secret{kind, len(r.secrets)}
		r.secrets[text] = s
	}
	return r.word(s), nil
}

// text hides the secrets of a decoded text.
func (r *Redactor) text(text string, nested int) (string, error) {
	if out, there := r.memo[text]; there {
		return out, nil
	}
	if r.learning {
		r.look(text)
	}
	out, err := r.within(text, nested)
	if err != nil {
		return "", err
	}
	for round := 0; ; round++ {
		next, err := r.between(out)
		if err != nil {
			return "", err
		}
		if next == out {
			break
		}
		if out = next; round == mostRounds {
			return "", ErrRemains
		}
	}
	cost := len(text) + len(out) + memoCost
	if r.memoBytes += cost; r.memoBytes > memoBytes {
		r.memo, r.memoBytes = map[string]string{}, cost
	}
	r.memo[text] = out
	return out, nil
}

// look notes which patterns of the user a text meets, and the numbers of the words in it,
// which an earlier redaction put there.
func (r *Redactor) look(text string) {
	for i := range r.options.Patterns {
		if met := &r.met[len(r.paths)+i]; !*met {
			*met = r.rules[i].re.MatchString(text)
		}
	}
	for _, m := range words.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.Atoi(m[2]); err == nil && n < mostNumber {
			r.first = max(r.first, n)
		}
	}
}

// mostNumber bounds the numbers of words that are gone on from.
const mostNumber = 1_000_000_000

// note lists the words that came into a text at a place.
func (r *Redactor) note(path, before, after string) {
	if r.learning {
		return
	}
	for _, m := range words.FindAllStringSubmatch(after, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || strings.Contains(before, m[0]) {
			continue
		}
		at := place{path, m[1]}
		if r.places[at] == nil {
			if len(r.places) >= mostPlaces {
				at.path = "/" // any other
			}
			if r.places[at] == nil {
				r.places[at] = map[int]bool{}
			}
		}
		r.places[at][n] = true
	}
}

// noteAt is note for a value of a state. What is hidden in JSON within a text is noted with
// the text.
func (r *Redactor) noteAt(t *jsontape.Tape, n jsontape.Node, nested int, before, after string) error {
	if r.learning || nested > 0 {
		return nil
	}
	var tokens []string
	for ; t.Parent(n) != jsontape.None; n = t.Parent(n) {
		token := "*"
		if t.Kind(t.Parent(n)) == jsontape.Object {
			key, err := r.text(t.Key(n), nested)
			if err != nil {
				return err
			}
			token = string(jsontape.AppendPointerToken(nil, key))
		}
		tokens = append(tokens, token)
	}
	slices.Reverse(tokens)
	path := ""
	if len(tokens) > 0 {
		path = "/" + strings.Join(tokens, "/")
	}
	r.note(path, before, after)
	return nil
}

// within hides the secrets of JSON that is a text.
func (r *Redactor) within(text string, nested int) (string, error) {
	if trimmed := strings.TrimLeft(text, " \t\r\n"); trimmed == "" || !strings.Contains(`{["`, trimmed[:1]) || isWord(trimmed) {
		return text, nil
	}
	data := []byte(text)
	if !jsontape.Valid(data) {
		return text, nil
	}
	out, err := r.state(data, nested+1)
	return string(out), err
}

// between hides the secrets between the words that stand for others.
func (r *Redactor) between(text string) (string, error) {
	var out strings.Builder
	done := 0
	part := func(part string) error {
		if r.replacer != nil {
			if next := r.replacer.Replace(part); next != part {
				out.WriteString(next)
				return nil // the next round looks at what is between its words
			}
		}
		from := 0
		for _, s := range r.find(part) {
			word, err := r.hide(part[s.from:s.to], s.kind)
			if err != nil {
				return err
			}
			out.WriteString(part[from:s.from])
			out.WriteString(word)
			from = s.to
		}
		out.WriteString(part[from:])
		return nil
	}
	for _, m := range words.FindAllStringIndex(text, -1) {
		if err := part(text[done:m[0]]); err != nil {
			return "", err
		}
		out.WriteString(text[m[0]:m[1]])
		done = m[1]
	}
	if err := part(text[done:]); err != nil {
		return "", err
	}
	return out.String(), nil
}
