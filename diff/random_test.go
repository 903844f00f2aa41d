package diff

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// Random states. Few different values, so that arrays hold duplicates and
// elements move, and keys that a path has to escape.

var (
	someKeys    = []string{"a", "b", "c", "", "a/b", "m~n", "~1", "0", "é", "\"q\\", "日本", "messages"}
	someNumbers = []string{"0", "1", "1.0", "10e-1", "-0", "2", "9007199254740993", "9007199254740992", "123456789012345678901234567890", "1e400", "10e399", "0.1"}
	someStrings = []string{"", "x", "y", "hello world", "hello there", "é", "\n", "<b>&", "\u2028", "😀"}
)

// number is a number in a random state, as it is to be spelled.
type number string

func scalar(t *rapid.T) any {
	switch rapid.IntRange(0, 5).Draw(t, "scalar") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return number(rapid.SampledFrom(someNumbers).Draw(t, "number"))
	}
	return rapid.SampledFrom(someStrings).Draw(t, "string")
}

func tree(t *rapid.T, depth int) any {
	if depth == 0 {
		return scalar(t)
	}
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0, 1:
		return array(t, depth)
	case 2, 3:
		return object(t, depth)
	}
	return scalar(t)
}

func array(t *rapid.T, depth int) []any {
	out := []any{}
	for range rapid.IntRange(0, 8).Draw(t, "elements") {
		out = append(out, tree(t, depth-1))
	}
	return out
}

func object(t *rapid.T, depth int) map[string]any {
	out := map[string]any{}
	for range rapid.IntRange(0, 5).Draw(t, "members") {
		out[rapid.SampledFrom(someKeys).Draw(t, "key")] = tree(t, depth-1)
	}
	return out
}

// container is a random root: a state that is no container cannot be patched.
func container(t *rapid.T) any {
	if rapid.Bool().Draw(t, "array") {
		return array(t, 3)
	}
	return object(t, 3)
}

// change returns the value with about one in eight places changed.
func change(t *rapid.T, v any) any {
	if rapid.IntRange(0, 15).Draw(t, "here") == 0 {
		return tree(t, 2)
	}
	switch v := v.(type) {
	case []any:
		out := []any{}
		for _, e := range v {
			switch rapid.IntRange(0, 11).Draw(t, "element") {
			case 0: // removed
			case 1: // doubled
				out = append(out, e, e)
			case 2:
				out = append(out, tree(t, 2), e)
			case 3:
				out = append([]any{e}, out...)
			default:
				out = append(out, change(t, e))
			}
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			switch rapid.IntRange(0, 9).Draw(t, "member") {
			case 0: // removed
			case 1:
				out[rapid.SampledFrom(someKeys).Draw(t, "key")] = v[k]
			default:
				out[k] = change(t, v[k])
			}
		}
		return out
	}
	return v
}

// spelling decides what is free in JSON.
type spelling interface {
	space() string
	keys([]string) []string
	quote(string) string
	number(number) string
}

// plainSpelling is that of one program: the same value, the same bytes.
type plainSpelling struct{}

func (plainSpelling) number(n number) string {
	if plain, found := plainNumbers[n]; found {
		return plain
	}
	return string(n)
}

var plainNumbers = map[number]string{"1.0": "1", "10e-1": "1", "-0": "0", "10e399": "1e400"}

func (plainSpelling) space() string            { return "" }
func (plainSpelling) keys(k []string) []string { return k }
func (plainSpelling) quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// looseSpelling draws white space, the order of keys and escapes, and spells
// numbers as they come.
type looseSpelling struct{ t *rapid.T }

func (looseSpelling) number(n number) string { return string(n) }

func (l looseSpelling) space() string {
	return rapid.SampledFrom([]string{"", "", " ", "\n  ", "\t"}).Draw(l.t, "space")
}
func (l looseSpelling) keys(k []string) []string { return rapid.Permutation(k).Draw(l.t, "order") }
func (l looseSpelling) quote(s string) string {
	if !rapid.Bool().Draw(l.t, "escapes") {
		return plainSpelling{}.quote(s)
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r > 0xFFFF {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
			continue
		}
		fmt.Fprintf(&b, `\u%04X`, r)
	}
	b.WriteByte('"')
	return b.String()
}

func spell(b *strings.Builder, v any, how spelling) {
	b.WriteString(how.space())
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		fmt.Fprint(b, v)
	case number:
		b.WriteString(how.number(v))
	case string:
		b.WriteString(how.quote(v))
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			spell(b, e, how)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, k := range how.keys(slices.Sorted(maps.Keys(v))) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(how.space() + how.quote(k) + how.space() + ":")
			spell(b, v[k], how)
		}
		b.WriteByte('}')
	}
	b.WriteString(how.space())
}

func text(v any, how spelling) []byte {
	var b strings.Builder
	spell(&b, v, how)
	return []byte(strings.TrimSpace(b.String()))
}
