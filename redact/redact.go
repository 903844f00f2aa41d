// Package redact takes secrets out of states, so that a session can be shared. It finds
// them by their shape (keys of known services, tokens, private keys, headers, connection
// strings), by the key that they stand under, because they look random, and where its
// user says.
//
//	{"password":"hunter2!","text":"it is hunter2!"}
//	{"password":"[redacted key 1]","text":"it is [redacted key 1]"}
//
// States are read twice. The first reading gathers the secrets, the second hides them: in
// texts after escapes are undone, in JSON within texts. What is a secret by itself is hidden
// wherever it stands: a known shape, a text right under the key of a secret, a random word.
// A guess, as a word behind "password:" in a sentence, is hidden in its place alone. Keys are
// the structure of a state, so that only known shapes and random words are hidden there. A
// secret has the same word everywhere, so that what differs between two states still does, and
// what is equal still is. All other bytes of a state stay.
//
// Words, placeholders, hashes, ids and public keys are no secrets.
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
	"hindcast/model/prompts"
)

const (
	// leastSpread is the length from which a secret is hidden wherever it stands: shorter
	// ones are parts of other words.
	leastSpread = 6
	// mostSecrets bounds the secrets of one redaction, in bytes. mostSpread bounds the secrets that are hidden
	// wherever they stand. mostSpelled bounds the length of a secret that is looked for in other spellings
	// too.
	mostSecrets = 64 << 20
	mostSpread  = 50_000
	mostSpelled = 1 << 10
	// mostPlaces bounds the places that are listed.
	mostPlaces = 10_000
	// memoBytes bounds the memory for known texts, since the same texts stand in state after state. memoCost
	// is the overhead of one text.
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
	return fmt.Sprintf("%s %.200q fits nothing in the shared rows", e.What, e.Text)
}

// Options are the user's own rules.
type Options struct {
	// Paths are JSON Pointers of values that are hidden whole. The token * stands for
	// each member and each element.
	Paths []string
	// Patterns are regular expressions. What one matches in a text or a key is hidden.
	Patterns []string
	// Prompts leaves out the texts that the vendor of an agent wrote for the model, see package prompts. A notice
	// stands in the place of each.
	Prompts bool
	// Unredacted hides no secrets: it is for leaving out prompts alone.
	Unredacted bool
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
	// replacer hides the secrets that are spread in texts, inKeys those of them that a key may be.
	replacer, inKeys *strings.Replacer
	// begins are the secrets on one line, sorted, and ends the same ones backwards.
	begins, ends []cutSecret

	memo      map[memoKey]string
	memoBytes int
	// keys are keys without their secrets, and clean the hashes of elements of arrays that have none.
	keys  map[string]string
	clean map[[sha256.Size]byte]bool
	// quiet are the hashes of texts in which no secret was found while they were learned.
	quiet map[[sha256.Size]byte]bool
	// looked counts the bytes of states in which secrets were looked for.
	looked int

	// ids are words that look random and stand under the key of an id or a hash.
	ids map[string]bool

	places map[place]map[int]bool
	// hid says that a secret was hidden in the state that was read last.
	hid bool
	// left are the prompts that are left out, by the hashes of their texts.
	left map[[sha256.Size]byte]prompts.Left
	// wordPlaces is the memory of the prefilter.
	wordPlaces [][]int
}

// secret describes one secret: the kind by which it was found first, its number from 0, and whether it is
// hidden wherever it stands.
type secret struct {
	kind   string
	number int
	spread bool
}

// memoKey is a text and whether it was looked at as one that names something.
type memoKey struct {
	text string
	calm bool
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
	r := &Redactor{options: o, secrets: map[string]secret{}, learning: true, ids: map[string]bool{}, quiet: map[[sha256.Size]byte]bool{},
		places: map[place]map[int]bool{}, left: map[[sha256.Size]byte]prompts.Left{}, met: make([]bool, len(o.Paths)+len(o.Patterns))}
	r.forget()
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
		all := regexp.MustCompile(`(?:` + pattern + `)`)
		r.rules = append(r.rules, rule{"regex", nil, func() *regexp.Regexp { return all }, certain})
	}
	r.rules = append(r.rules, rules()...)
	return r, nil
}

// Learn collects the secrets of a state. All states must be learned before the first is hidden. It returns the
// errors of State.
func (r *Redactor) Learn(state []byte) error {
	_, err := r.state(state, 0)
	return err
}

// FinishLearning ends the learning. The errors are an [UnmetError] and [ErrTooMany].
func (r *Redactor) FinishLearning() error {
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
		return len(text) < leastSpread || !r.secrets[text].spread || strings.HasPrefix(text, hashed)
	})
	if len(spread) > mostSpread {
		return ErrTooMany
	}
	slices.SortFunc(spread, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	pairs, inKeys := make([]string, 0, 2*len(spread)), []string(nil)
	for _, text := range spread {
		found := r.secrets[text]
		word := r.word(found)
		pairs = append(pairs, text, word)
		if found.kind != "key" && found.kind != "assignment" || isDrawn(text) {
			inKeys = append(inKeys, text, word)
		}
		if len(text) <= mostSpelled {
			for _, spelled := range spellings(text) {
				pairs = append(pairs, spelled, word)
			}
		}
	}
	r.learning, r.replacer, r.inKeys = false, strings.NewReplacer(pairs...), strings.NewReplacer(inKeys...)
	r.sortSecrets()
	r.forget()
	return nil
}

// forget empties what is remembered of texts.
func (r *Redactor) forget() {
	r.memo, r.memoBytes = map[memoKey]string{}, 0
	r.keys, r.clean = map[string]string{}, map[[sha256.Size]byte]bool{}
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

// State returns a state without its secrets; the same slice if it has no secrets. The error is a
// *jsontape.SyntaxError if the state is not JSON, [ErrTooMany], [ErrRemains] or [ErrNested].
func (r *Redactor) State(state []byte) ([]byte, error) { return r.state(state, 0) }

// Text returns a text from beside a state, such as a title, without its secrets, and without what a cut left of them
// before or behind an ellipsis. What was hidden is listed under a name.
func (r *Redactor) Text(name, text string) (string, error) {
	if r.options.Unredacted {
		return text, nil
	}
	out, err := r.text(r.hideCut(text), 0, false)
	if err == nil && out != text {
		r.note(name, text, out)
	}
	return out, err
}

// Findings returns the hidden secrets, counted by place and kind.
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

// CountSecrets returns how many different secrets were hidden, wherever they stood.
func (r *Redactor) CountSecrets() int {
	all := map[int]bool{}
	for _, numbers := range r.places {
		maps.Copy(all, numbers)
	}
	return len(all)
}

// HidesSecrets reports whether secrets are hidden, and not only prompts left out.
func (r *Redactor) HidesSecrets() bool { return !r.options.Unredacted }

// LeftOut returns the sums of the prompts that were left out, in the order of their names.
func (r *Redactor) LeftOut() (list []prompts.Left) {
	sums := map[string]int{}
	for _, of := range r.left {
		sums[of.What] += of.Bytes
	}
	for _, what := range slices.Sorted(maps.Keys(sums)) {
		list = append(list, prompts.Left{What: what, Bytes: sums[what]})
	}
	return list
}

// noticesOf returns the notices for the prompts in a state.
func (r *Redactor) noticesOf(t *jsontape.Tape) map[jsontape.Node]string {
	if !r.options.Prompts {
		return nil
	}
	notices := map[jsontape.Node]string{}
	for _, p := range prompts.FindParts(t) {
		notices[p.Node] = p.Notice()
		if sum := sha256.Sum256([]byte(p.Text)); !r.learning && len(r.left) < mostPlaces {
			r.left[sum] = prompts.Left{What: p.What, Bytes: len(p.Text)}
		}
	}
	return notices
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
	whole, notices := map[jsontape.Node]bool{}, map[jsontape.Node]string(nil)
	if nested == 0 {
		notices = r.noticesOf(t)
		for i, path := range r.paths {
			if r.resolve(t, 0, path, whole) {
				r.met[i] = true
			}
		}
	}
	var out []byte
	done, puts, noticed := 0, 0, 0
	put := func(from, to int, text string) {
		puts++
		out = append(out, data[done:from]...)
		out = jsontape.AppendQuoted(out, text)
		done = to
	}
	// An element without secrets in the state before has no secrets in this one.
	var sum [sha256.Size]byte
	end, putsBefore := jsontape.None, 0
	for n := jsontape.Node(0); int(n) < t.Len(); n++ {
		if n == end {
			r.remember(sum, puts == putsBefore)
			end = jsontape.None
		}
		if end == jsontape.None && nested == 0 && r.standsAlone(t, n) {
			if sum = sha256.Sum256(t.Raw(n)); r.clean[sum] {
				n = t.End(n) - 1
				continue
			}
			end, putsBefore = t.End(n), puts
			r.looked += len(t.Raw(n))
		}
		if from, to := t.KeySpan(n); to > 0 && !r.options.Unredacted {
			key := t.Key(n)
			hidden, err := r.key(key)
			if err != nil {
				return nil, err
			}
			if hidden != key {
				put(from, to, hidden)
				if err := r.noteAt(t, t.Parent(n), nested, key, hidden); err != nil {
					return nil, err
				}
			}
		}
		from, to := t.Span(n)
		if notice, is := notices[n]; is {
			put(from, to, notice)
			noticed++
			n = t.End(n) - 1
			continue
		}
		if whole[n] {
			if err := r.learnBelow(t, n); err != nil {
				return nil, err
			}
			word, err := r.hide(valueText(t, n), "path", true)
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
		kind := t.Kind(n)
		if kind != jsontape.String && kind != jsontape.Number || r.options.Unredacted {
			continue
		}
		text := valueText(t, n)
		hidden, err := r.value(t, n, text, nested)
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
	if end != jsontape.None {
		r.remember(sum, puts == putsBefore)
	}
	if nested == 0 {
		r.hid = puts > noticed
	}
	if out == nil {
		return data, nil
	}
	return append(out, data[done:]...), nil
}

// mostClean bounds the elements that are remembered, and leastAlone their bytes.
const (
	mostClean  = 1 << 20
	leastAlone = 64
)

// standsAlone reports whether what is secret in a value depends on the value alone: it is an object
// in an array, under no name of a secret.
func (r *Redactor) standsAlone(t *jsontape.Tape, n jsontape.Node) bool {
	if t.Kind(n) != jsontape.Object || t.Parent(n) == jsontape.None || t.Kind(t.Parent(n)) != jsontape.Array || len(r.paths) > 0 || len(t.Raw(n)) < leastAlone {
		return false
	}
	for at := t.Parent(n); t.Parent(at) != jsontape.None; at = t.Parent(at) {
		if t.Kind(t.Parent(at)) == jsontape.Object {
			if key := t.Key(at); key == "value" || key == "Value" || nameStrength(key) != unnamed {
				return false
			}
		}
	}
	return true
}

// remember notes that an element has no secret.
func (r *Redactor) remember(sum [sha256.Size]byte, isClean bool) {
	if isClean && len(r.clean) < mostClean {
		r.clean[sum] = true
	}
}

// value hides the secrets of a string or a number of a state. One right under the key of a
// secret, or in a list there, is a secret itself, but for words and placeholders. In an object
// there, which may be a schema, the texts are judged as those behind a name in a sentence.
func (r *Redactor) value(t *jsontape.Tape, n jsontape.Node, text string, nested int) (string, error) {
	name, right := nameOf(t, n)
	number := t.Kind(n) == jsontape.Number
	switch {
	case text == "" || isWord(text):
		return text, nil
	case number:
		if right && name > weak || r.secrets[text].spread && len(text) >= leastSpread {
			return r.hide(text, "key", false)
		}
		return text, nil
	case name == unnamed:
		return r.text(text, nested, namesSomething(t, n))
	}
	hide, spread := false, false
	if right {
		hide, spread = judgeText(text, name)
	} else {
		hide, spread = judge(text, name)
	}
	if !hide {
		return r.text(text, nested, false)
	}
	if scheme, rest, two := strings.Cut(text, " "); two && isLetters(scheme) && !strings.Contains(rest, " ") && len(rest) >= leastSpread {
		if hide, spread := judgeText(rest, name); hide { // stands without its scheme elsewhere
			if _, err := r.hide(rest, "key", spread); err != nil {
				return "", err
			}
		}
	}
	return r.hide(text, "key", spread)
}

// nameOf returns how strong the name of a value is, and whether the value stands right under
// it or in a list there. An object with the members name and value gives the name of the
// latter. Nothing in a schema has a name.
func nameOf(t *jsontape.Tape, n jsontape.Node) (name strength, right bool) {
	right = true
	for at := n; t.Parent(at) != jsontape.None; at = t.Parent(at) {
		parent := t.Parent(at)
		if t.Kind(parent) == jsontape.Array {
			if at == n {
				if s := flagBefore(t, n); s != unnamed {
					return s, true
				}
			}
			continue
		}
		if right {
			key := t.Key(at)
			switch key {
			case "value", "Value":
				key = cmp.Or(siblingName(t, parent), typedInto(t, parent))
				if key == "" && at == n && t.Parent(parent) != jsontape.None && t.Kind(t.Parent(parent)) == jsontape.Object {
					key = t.Key(parent)
				}
			case "text":
				key = cmp.Or(typedInto(t, parent), key)
			}
			if s := nameStrength(key); s != unnamed {
				return s, true
			}
			if key != t.Key(at) {
				return unnamed, false
			}
			right = false
			continue
		}
		if s := nameStrength(t.Key(at)); s > weak {
			if isSchema(t, at) {
				return unnamed, false
			}
			return literal, false
		}
	}
	return unnamed, false
}

// mostBeside bounds the members of an object that are looked at for the name of another.
const mostBeside = 64

// siblingName returns the name that an object gives its value.
func siblingName(t *jsontape.Tape, object jsontape.Node) string {
	for c, i := t.First(object), 0; c != jsontape.None && i < mostBeside; c, i = t.Next(c), i+1 {
		if key := t.Key(c); (key == "name" || key == "key" || key == "Name" || key == "Key") && t.Kind(c) == jsontape.String {
			return t.Text(c)
		}
	}
	return ""
}

// typedInto returns "password" where an object names a field for one, into which its text is typed: by
// a selector of a page, or in words.
func typedInto(t *jsontape.Tape, object jsontape.Node) string {
	for c, i := t.First(object), 0; c != jsontape.None && i < mostBeside; c, i = t.Next(c), i+1 {
		switch t.Key(c) {
		case "field", "selector", "element", "locator", "label", "placeholder":
			if t.Kind(c) == jsontape.String && passwordField().MatchString(t.Text(c)) {
				return "password"
			}
		}
	}
	return ""
}

var passwordField = expression(`(?i)(?:^|[^a-z])` + spoken + `(?:$|[^a-z])`)

// flagBefore returns how strong the flag is that stands before an element of an array, as in
// ["--password", "…"].
func flagBefore(t *jsontape.Tape, element jsontape.Node) strength {
	before := element - 1 // in the order of the text; a flag has nothing below it
	if t.Parent(before) != t.Parent(element) || t.Kind(before) != jsontape.String {
		return unnamed
	}
	flag, is := strings.CutPrefix(t.Text(before), "--")
	if s := nameStrength(flag); is && s > weak {
		return s
	}
	return unnamed
}

// isSchema reports whether a value describes others, as a JSON schema does.
func isSchema(t *jsontape.Tape, n jsontape.Node) bool {
	if t.Kind(n) != jsontape.Object {
		return false
	}
	for c := t.First(n); c != jsontape.None; c = t.Next(c) {
		switch t.Key(c) {
		case "type", "$ref", "description", "anyOf", "oneOf", "allOf", "properties", "enum", "format":
			return true
		}
	}
	return false
}

// namesSomething reports whether a text stands under the key of an id or a hash.
func namesSomething(t *jsontape.Tape, n jsontape.Node) bool {
	for t.Parent(n) != jsontape.None && t.Kind(t.Parent(n)) == jsontape.Array {
		n = t.Parent(n)
	}
	if t.Parent(n) == jsontape.None {
		return false
	}
	key := t.Key(n)
	for _, end := range idKeys {
		if strings.HasSuffix(key, end) {
			return true
		}
	}
	return slices.Contains(hashKeys, strings.ToLower(key)) || (key == "x" || key == "y" || key == "n") && isPublicKey(t, t.Parent(n))
}

// isPublicKey reports whether an object is a JSON Web Key without the private members.
func isPublicKey(t *jsontape.Tape, object jsontape.Node) bool {
	kty, private := false, false
	for c, i := t.First(object), 0; c != jsontape.None && i < mostBeside; c, i = t.Next(c), i+1 {
		kty, private = kty || t.Key(c) == "kty", private || t.Key(c) == "d" || t.Key(c) == "k"
	}
	return kty && !private
}

var (
	idKeys   = []string{"Id", "ID", "_id", "-id", "Ids", "_ids", "uuid", "Uuid", "UUID", "Hash", "_hash", "_sha", "Digest", "Signature", "_signature"}
	hashKeys = strings.Fields(`id sha sha1 sha256 sha512 md5 hash digest etag integrity checksum signature thoughtsignature encrypted_content
		fingerprint commit revision nonce ref oid cid kid`)
)

// key hides the secrets of a key. The keys of a state are its structure, which many states
// share, so only known shapes and random words are secrets there, and what the user names.
func (r *Redactor) key(key string) (string, error) {
	if len(key) < leastFound && len(r.options.Patterns) == 0 {
		return key, nil
	}
	if out, there := r.keys[key]; there {
		return out, nil
	}
	if r.learning {
		r.noteMet(key)
	}
	out, err := r.rounds(key, func(part string) (string, error) { return r.part(part, r.inKeys, r.inKey) })
	if err == nil && len(key) <= mostID && len(r.keys) < mostSpread {
		r.keys[key] = out
	}
	return out, err
}

// inKey returns the secrets in a key: known shapes, and random words.
func (r *Redactor) inKey(key string) []span {
	spans := appendShaped(nil, key)
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.kind != "regex" && rule.kind != "jwt" && rule.kind != "aws-key" {
			continue
		}
		if rule.hints != nil && !slices.ContainsFunc(rule.hints, func(hint string) bool { return strings.Contains(strings.ToLower(key), hint) }) {
			continue
		}
		for _, m := range rule.re().FindAllStringIndex(key, -1) {
			spans = append(spans, span{m[0], m[1], rule.kind, true})
		}
	}
	return joinOverlaps(r.drawnWords(spans, key, func() [][]int { return publicBlocks().FindAllStringIndex(key, -1) }))
}

// valueText returns the key under which a value is remembered: the text of a string or a number. A container's
// key is its hash, because it may be large, and its content is hidden by itself.
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
				if _, err := r.hide(text, "path", true); err != nil {
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

// word returns the text that replaces a secret.
func (r *Redactor) word(s secret) string {
	return "[redacted " + s.kind + " " + strconv.Itoa(r.first+s.number+1) + "]"
}

func isWord(text string) bool {
	if !strings.HasPrefix(text, "[redacted ") {
		return false
	}
	at := words().FindStringIndex(text)
	return at != nil && at[0] == 0 && at[1] == len(text)
}

// hide returns the word that stands for a secret.
func (r *Redactor) hide(text, kind string, spread bool) (string, error) {
	s, there := r.secrets[text]
	if !there {
		if r.bytes += len(text); r.bytes > mostSecrets {
			return "", ErrTooMany
		}
		s = secret{kind, len(r.secrets), false}
	}
	if !there || spread && !s.spread {
		s.spread = s.spread || spread
		r.secrets[text] = s
	}
	return r.word(s), nil
}

// text hides the secrets of a decoded text. A calm one names something, as an id does.
func (r *Redactor) text(text string, nested int, calm bool) (string, error) {
	if len(text) < leastFound && len(r.options.Patterns) == 0 {
		return text, nil
	}
	at := memoKey{text, calm}
	if out, there := r.memo[at]; there {
		return out, nil
	}
	sum := sha256.Sum256([]byte(text))
	if calm {
		sum[0] ^= 1
	}
	if !r.learning && r.quiet[sum] && r.replacer.Replace(text) == text {
		return text, nil
	}
	if r.learning {
		r.noteMet(text)
		if calm && len(text) >= leastDrawn && len(text) <= mostID && len(r.ids) < mostSpread && isRandom(text) {
			r.ids[text] = true
		}
	}
	out, err := r.redactJSON(text, nested)
	if err != nil {
		return "", err
	}
	out, err = r.rounds(out, func(part string) (string, error) {
		return r.part(part, r.replacer, func(part string) []span { return r.find(part, calm) })
	})
	if err != nil {
		return "", err
	}
	if r.learning && out == text && len(r.quiet) < mostClean && !isSpelledDeeply(text) {
		r.quiet[sum] = true
	}
	cost := len(text) + len(out) + memoCost
	if r.memoBytes += cost; r.memoBytes > memoBytes {
		r.memo, r.memoBytes = map[memoKey]string{}, cost
	}
	r.memo[at] = out
	return out, nil
}

// isSpelledDeeply reports whether a text may spell a secret in a way that the replacer does not know: with escapes that
// JSON leaves to its writer, or in JSON in JSON in JSON.
func isSpelledDeeply(text string) bool {
	return strings.Contains(text, `\u`) || strings.Contains(text, `\/`) || strings.Contains(text, `\\\\`)
}

// mostID bounds the length of an id that is known again in texts.
const mostID = 128

// noteMet notes which patterns of the user a text meets, and the numbers of the words in it,
// which an earlier redaction put there.
func (r *Redactor) noteMet(text string) {
	for i := range r.options.Patterns {
		if met := &r.met[len(r.paths)+i]; !*met {
			*met = r.rules[i].re().MatchString(text)
		}
	}
	if !hasWord(text) {
		return
	}
	for _, m := range words().FindAllStringSubmatch(text, -1) {
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
	for _, m := range words().FindAllStringSubmatch(after, -1) {
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
			key, err := r.key(t.Key(n))
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

// redactJSON hides the secrets of JSON that is a text.
func (r *Redactor) redactJSON(text string, nested int) (string, error) {
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

// rounds hides secrets between the words that stand for others, until nothing changes any more.
func (r *Redactor) rounds(text string, hide func(part string) (string, error)) (string, error) {
	for range mostRounds + 1 {
		next, err := redactBetween(text, hide)
		if err != nil || next == text {
			return next, err
		}
		text = next
	}
	return "", ErrRemains
}

// redactBetween calls hide with the parts of a text between the words that stand for secrets.
func redactBetween(text string, hide func(part string) (string, error)) (string, error) {
	if !hasWord(text) {
		return hide(text)
	}
	var out strings.Builder
	done := 0
	for _, m := range append(words().FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		part, err := hide(text[done:m[0]])
		if err != nil {
			return "", err
		}
		out.WriteString(part)
		out.WriteString(text[m[0]:m[1]])
		done = m[1]
	}
	return out.String(), nil
}

// part hides the secrets of a part of a text: those that are spread, or else those that are
// found in it. The next round looks at what is between the words of the former.
func (r *Redactor) part(part string, spread *strings.Replacer, find func(string) []span) (string, error) {
	if spread != nil {
		if next := spread.Replace(part); next != part {
			return next, nil
		}
	}
	spans := find(part)
	if len(spans) == 0 {
		return part, nil
	}
	var out strings.Builder
	from := 0
	for _, s := range spans {
		word, err := r.hide(part[s.from:s.to], s.kind, s.spread)
		if err != nil {
			return "", err
		}
		out.WriteString(part[from:s.from])
		out.WriteString(word)
		from = s.to
	}
	out.WriteString(part[from:])
	return out.String(), nil
}
