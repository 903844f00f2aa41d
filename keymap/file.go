package keymap

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// maxFile bounds the user's file; key bindings are far from a mebibyte.
const maxFile = 1 << 20

// FileError describes a mistake in the user's key bindings, and its place.
type FileError struct {
	File string
	// Line counts from 1.
	Line   int
	Reason string
}

func (e *FileError) Error() string {
	return fmt.Sprintf("keymap: read %s: line %d: %s", e.File, e.Line, e.Reason)
}

// Path returns the place of the user's own bindings: hindcast/keys.toml in
// $XDG_CONFIG_HOME, or in ~/.config where that is not an absolute path (XDG
// Base Directory Specification). It is "" where there is no home either.
func Path(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "hindcast", "keys.toml")
}

// Load returns the default bindings, overridden by the bindings in a file. If the
// file does not exist, or path is "", Load returns the defaults. A mistake in the
// file is reported as a FileError.
//
// A file has a table for each scope, in it a key or a list of keys for each
// action; an empty list unbinds:
//
//	[session]
//	restore = "X"
//	step-back = ["[", "ctrl+left"]
//	fork = []
func Load(path string) (*Map, error) {
	if path == "" {
		return Default(), nil
	}
	data, err := read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Default(), nil
	case err != nil:
		return nil, fmt.Errorf("keymap: read %s: %w", path, err)
	case len(data) > maxFile:
		return nil, &FileError{path, 1, fmt.Sprintf("the file is larger than %d bytes", maxFile)}
	}
	return Parse(path, string(data))
}

// errNotRegular: a pipe or a device may have no end, or never begin.
var errNotRegular = errors.New("it is not a regular file; write the bindings into one, or take it away")

// read returns up to one byte more of a regular file than a file may have. It does
// not wait for the writer of a pipe.
func read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// Parse is Load on the text of a file; file names it in errors.
func Parse(file, text string) (*Map, error) {
	var tables map[string]any
	meta, err := toml.Decode(text, &tables)
	if err != nil {
		var parse toml.ParseError
		if errors.As(err, &parse) {
			// The library gives line 0 for a string that a carriage return ends on
			// the first line.
			return nil, &FileError{file, max(parse.Position.Line, 1), parse.Message}
		}
		return nil, fmt.Errorf("keymap: read %s: %w", file, err)
	}
	p := parser{file: file, text: text, m: Default()}
	for _, k := range meta.Keys() {
		if err := p.entry(k, tables); err != nil {
			return nil, err
		}
	}
	if err := p.m.index(); err != nil {
		return nil, p.conflict(err)
	}
	return p.m, nil
}

// parser lays a file's bindings over the defaults.
type parser struct {
	file, text string
	m          *Map
	bound      []toml.Key // the entries that were taken over, in order
}

// entry takes over one key of the file: a table, or an action in one.
func (p *parser) entry(k toml.Key, tables map[string]any) error {
	s := scopeNamed(k[0])
	if s == noScope {
		return p.errorf(k[:1], "no such scope: %q (known are %s)", k[0], scopeNames())
	}
	table, ok := tables[k[0]].(map[string]any)
	if !ok {
		return p.errorf(k[:1], "%s is a table of actions: [%s]", k[0], k[0])
	}
	if len(k) == 1 {
		return nil
	}
	a := FindAction(k[1])
	if a == None {
		return p.errorf(k, "no such action: %q", k[1])
	}
	if _, ok := p.m.keys[s][a]; !ok {
		return p.errorf(k, "%s means nothing in scope %s", a, s)
	}
	keys, err := keyList(table[k[1]])
	if err != nil {
		return p.errorf(k, "%s: %v", k[1], err)
	}
	switch {
	case len(keys) == 0 && (a == Quit || a == Back):
		return p.errorf(k, "%s is the way out: it must keep a key", a)
	case s == Input && slices.ContainsFunc(keys, isText):
		return p.errorf(k, "%s: a character is text in a text field", a)
	}
	p.m.bind(s, a, keys)
	p.bound = append(p.bound, k)
	return nil
}

// isText reports whether a key types a character.
func isText(name string) bool { return utf8.RuneCountInString(name) == 1 }

// keyList reads a key, or a list of them.
func keyList(v any) ([]string, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	keys := []string{}
	for _, v := range list {
		name, ok := v.(string)
		if !ok {
			return nil, errors.New("a key is a string in quotes")
		}
		if name == "space" {
			name = " "
		}
		if !isKey(name) {
			return nil, fmt.Errorf("no such key: %q", name)
		}
		if slices.Contains(keys, name) {
			return nil, fmt.Errorf("%q is there twice", name)
		}
		keys = append(keys, name)
	}
	return keys, nil
}

// conflict turns a key that is bound twice into an error at the line of the
// entry that bound it last.
func (p *parser) conflict(err error) error {
	var c *conflictError
	if !errors.As(err, &c) {
		return err
	}
	for _, k := range slices.Backward(p.bound) {
		if a := FindAction(k[1]); (a == c.first || a == c.second) && slices.Contains(p.m.Keys(scopeNamed(k[0]), a), c.key) {
			return p.errorf(k, "%q is bound twice in scope %s: to %s and to %s", c.key, c.scope, c.first, c.second)
		}
	}
	return err
}

func (p *parser) errorf(k toml.Key, format string, args ...any) error {
	return &FileError{p.file, p.line(k), fmt.Sprintf(format, args...)}
}

// line finds the line of a key, which the TOML library does not tell: the line
// in the right table that begins with the key's last part, else the table's.
func (p *parser) line(k toml.Key) int {
	found, table, n := 1, "", 0
	for line := range strings.Lines(p.text) {
		n++
		line = strings.TrimSpace(line)
		if head, ok := strings.CutPrefix(line, "["); ok {
			head, _, _ = strings.Cut(head, "]")
			if table = unquote(head); table != k[0] {
				continue
			}
			if found = n; len(k) == 1 {
				return n
			}
			continue
		}
		name, _, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		name = unquote(name)
		if table != "" {
			name = table + "." + name
		}
		if name == k.String() || strings.HasPrefix(name, k.String()+".") {
			return n
		}
	}
	return found
}

func unquote(name string) string { return strings.Trim(strings.TrimSpace(name), `"'`) }

// formerNames maps the names of scopes and actions in older files to the present
// names.
var formerNames = map[string]string{"checkpoint": "resume", "show-checkpoint": "show-resume"}

// today returns the present name of a scope or an action.
func today(name string) string {
	if now, renamed := formerNames[name]; renamed {
		return now
	}
	return name
}

func scopeNamed(name string) Scope {
	name = today(name)
	for s := range scopes {
		if s.String() == name {
			return s
		}
	}
	return noScope
}

func scopeNames() string {
	var names []string
	for s := range scopes {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}

// FindAction returns the action of a name, as [Action.String] gives it; None if there is no such action.
func FindAction(name string) Action {
	name = today(name)
	for a := None + 1; a < actions; a++ {
		if a.String() == name {
			return a
		}
	}
	return None
}

// namedKeys are the keys that are not characters, as Bubble Tea names them.
var namedKeys = []string{
	"enter", "tab", "shift+tab", "esc", "backspace", "delete", "insert",
	"up", "down", "left", "right", "home", "end", "pgup", "pgdown",
	"ctrl+up", "ctrl+down", "ctrl+left", "ctrl+right", "ctrl+home", "ctrl+end", "ctrl+pgup", "ctrl+pgdown",
	"shift+up", "shift+down", "shift+left", "shift+right", "shift+home", "shift+end",
	"ctrl+shift+up", "ctrl+shift+down", "ctrl+shift+left", "ctrl+shift+right", "ctrl+shift+home", "ctrl+shift+end",
	"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10",
	"f11", "f12", "f13", "f14", "f15", "f16", "f17", "f18", "f19", "f20",
}

// isKey reports whether a terminal can send a key of this name. ctrl+i, ctrl+m
// and ctrl+[ reach us as tab, enter and esc.
func isKey(name string) bool {
	name = strings.TrimPrefix(name, "alt+")
	if slices.Contains(namedKeys, name) {
		return true
	}
	if c, ok := strings.CutPrefix(name, "ctrl+"); ok {
		return len(c) == 1 && strings.Contains(`abcdefghjklnopqrstuvwxyz@\]^_`, c)
	}
	r, size := utf8.DecodeRuneInString(name)
	return size > 0 && size == len(name) && r != utf8.RuneError && r >= ' ' && r != 0x7f
}
