package jsontape

import (
	"bytes"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// runeError replaces invalid UTF-8 in a text.
const runeError = string(utf8.RuneError)

// Find returns the member of the object n whose decoded key is key, the last one
// if there are several, or -1; n may be None.
func (t *Tape) Find(n Node, key string) Node {
	if t.Kind(n) != Object {
		return None
	}
	// A key without a backslash decodes to another spelling only where it is invalid UTF-8,
	// and to U+FFFD there.
	respelled := strings.IndexByte(key, runeError[0]) >= 0 && strings.Contains(key, runeError)
	once := !respelled && len(t.shadowed) == 0 // no key is there twice
	found, end := None, t.nodes[n].next
	for c := n + 1; c < end; c = t.nodes[c].next {
		v := &t.nodes[c]
		if once && int(v.start-v.key) < len(key)+len(`"":`) { // the key in the text is shorter
			continue
		}
		rest := t.data[v.key+1:]
		switch {
		case v.flags&keyEscaped == 0 && len(rest) > len(key) && rest[len(key)] == '"' && string(rest[:len(key)]) == key:
			found = c
		case (respelled || v.flags&keyEscaped != 0) && t.Key(c) == key:
			found = c
		}
		if once && found >= 0 {
			break
		}
	}
	return found
}

// At returns element i of the array n, or -1.
func (t *Tape) At(n Node, i int) Node {
	if t.nodes[n].kind != Array || i < 0 || i >= t.Count(n) {
		return None
	}
	c := t.First(n)
	for range i {
		c = t.nodes[c].next
	}
	return c
}

// Lookup follows decoded keys and array positions (in decimal) down from the
// root and returns the node they lead to, or -1.
func (t *Tape) Lookup(path ...string) Node {
	n := Node(0)
	for _, step := range path {
		if n = t.stepTo(n, step); n < 0 {
			return None
		}
	}
	return n
}

// LookupAll yields the nodes that keys lead to, down from n, and with each the element that the last "*" led to, or n: "*"
// leads to each element of an array. n may be None.
func (t *Tape) LookupAll(n Node, path ...string) iter.Seq2[Node, Node] {
	return func(yield func(found, of Node) bool) { t.lookupAll(n, n, path, yield) }
}

// lookupAll implements LookupAll. It returns what yield does.
func (t *Tape) lookupAll(n, of Node, path []string, yield func(found, of Node) bool) bool {
	for i, key := range path {
		if key != "*" {
			n = t.Find(n, key)
			continue
		}
		if t.Kind(n) != Array {
			return true
		}
		for c := t.First(n); c >= 0; c = t.Next(c) {
			if !t.lookupAll(c, c, path[i+1:], yield) {
				return false
			}
		}
		return true
	}
	return n < 0 || yield(n, of)
}

// LookupPointer returns the node that a JSON Pointer (RFC 6901) names, or -1.
func (t *Tape) LookupPointer(pointer string) Node {
	if pointer == "" {
		return 0
	}
	if pointer[0] != '/' {
		return None
	}
	n := Node(0)
	for step := range strings.SplitSeq(pointer[1:], "/") {
		if n = t.stepTo(n, PointerKey(step)); n < 0 {
			return None
		}
	}
	return n
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// PointerKey returns the key, or the position, that a token of a JSON Pointer spells: the
// other way round than [AppendPointerToken].
func PointerKey(token string) string { return unescapePointer.Replace(token) }

func (t *Tape) stepTo(n Node, step string) Node {
	if t.nodes[n].kind == Object {
		return t.Find(n, step)
	}
	if t.nodes[n].kind != Array || step == "" || step[0] > '9' {
		return None // quickly: a key is tried on what is no object
	}
	i, err := strconv.Atoi(step)
	if err != nil || strconv.Itoa(i) != step {
		return None
	}
	return t.At(n, i)
}

// Pointer returns the JSON Pointer (RFC 6901) of n; "" for the root. Keys are
// decoded as by [Tape.Key] and so are untrusted text.
func (t *Tape) Pointer(n Node) string { return string(t.AppendPointer(nil, n)) }

// AppendPointer appends what [Tape.Pointer] returns to dst.
func (t *Tape) AppendPointer(dst []byte, n Node) []byte {
	var path []Node
	for ; t.nodes[n].parent >= 0; n = t.nodes[n].parent {
		path = append(path, n)
	}
	for _, n := range slices.Backward(path) {
		dst = append(dst, '/')
		if i := t.Index(n); i >= 0 {
			dst = strconv.AppendInt(dst, int64(i), 10)
			continue
		}
		dst = AppendPointerToken(dst, t.Key(n))
	}
	return dst
}

// AppendPointerToken appends key to dst with the escapes of a JSON Pointer.
func AppendPointerToken(dst []byte, key string) []byte {
	for i := range len(key) {
		switch c := key[i]; c {
		case '~':
			dst = append(dst, '~', '0')
		case '/':
			dst = append(dst, '~', '1')
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// sameKey reports whether the keys of two members have the same value.
func sameKey(t *Tape, n Node, u *Tape, m Node) bool {
	if (t.nodes[n].flags|u.nodes[m].flags)&keyRespelled == 0 {
		return bytes.Equal(t.keyBody(n), u.keyBody(m))
	}
	return t.spelledKey(n) == u.spelledKey(m)
}
