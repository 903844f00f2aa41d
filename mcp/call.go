package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Run runs a command, given without the program's name, and writes its output to out. The command writes to no store.
// The error has the words of the command's own.
type Run func(ctx context.Context, out *Output, command []string) error

// Output takes the output of a command, up to Most bytes.
type Output struct {
	bytes.Buffer
	Most int
}

// mostPrinted bounds the output of a command for an answer, in bytes.
const mostPrinted = 32 << 20

// Write implements io.Writer. It fails where there is more than o takes.
func (o *Output) Write(text []byte) (int, error) {
	if o.Len()+len(text) > o.Most {
		return 0, fmt.Errorf("the answer has more than %d MB: ask for less, as by a session or a snapshot", o.Most>>20)
	}
	return o.Buffer.Write(text)
}

// command is a line of Hindcast's command line: words, flags, and names behind them.
type command struct{ words, flags, names []string }

func (c *command) allWords() []string {
	return slices.Concat(c.words, c.flags, []string{"--"}, c.names)
}

// printDocument runs a command and returns its document of JSON.
func (run Run) printDocument(ctx context.Context, c command) ([]byte, error) {
	c.flags = append(slices.Clone(c.flags), "--json")
	out := &Output{Most: mostPrinted}
	err := run(ctx, out, c.allWords())
	if err != nil && json.Valid(out.Bytes()) { // nothing was found, or faults were
		err = nil
	}
	return out.Bytes(), err
}

// decodeDocument runs a command and decodes its document.
func (run Run) decodeDocument(ctx context.Context, to any, c command) error {
	text, err := run.printDocument(ctx, c)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// checkStore returns an error unless the home lists a store.
func (run Run) checkStore(ctx context.Context, address string) error {
	all, err := run.listStores(ctx)
	if err == nil && !slices.Contains(all, address) {
		err = fmt.Errorf("%.200q is no store of this home: these are %.2000q", address, all)
	}
	return err
}

// listStores returns the addresses of the stores of the home.
func (run Run) listStores(ctx context.Context) (addresses []string, err error) {
	var all []struct{ Address, Err string }
	err = run.decodeDocument(ctx, &all, command{words: []string{"home"}})
	for _, s := range all {
		addresses = append(addresses, s.Address)
	}
	return addresses, err
}

// found is a session in the words of `sessions --json`, with the address of its store.
type found struct{ ID, Store, Kind, Title string }

// leastOfID is how many characters of an id name a session, and mostNamed how many sessions an error names.
const leastOfID, mostNamed = 4, 10

// findSession returns the one session that is named: by its id, or the first characters of that; in a store, or in any
// where that is "".
func (run Run) findSession(ctx context.Context, name, store string) (one found, err error) {
	only := command{words: []string{"sessions"}}
	if store != "" {
		if err := run.checkStore(ctx, store); err != nil {
			return found{}, err
		}
		only.names = []string{store}
	}
	var list []found
	if err := run.decodeDocument(ctx, &list, only); err != nil {
		return found{}, err
	}
	fit := slices.DeleteFunc(slices.Clone(list), func(s found) bool { return s.ID != name })
	if len(fit) == 0 && len(name) >= leastOfID {
		fit = slices.DeleteFunc(list, func(s found) bool { return !strings.HasPrefix(s.ID, name) })
	}
	switch len(fit) {
	case 0:
		return found{}, fmt.Errorf("no session %.80q: `sessions` lists them", name)
	case 1:
		one = fit[0]
	default:
		var names []string
		for _, s := range fit[:min(len(fit), mostNamed)] {
			names = append(names, fmt.Sprintf("%s of %s %s: %.80s", s.ID, s.Kind, s.Store, s.Title))
		}
		return found{}, fmt.Errorf("%.80q names %d sessions: give more of its id, or its store:\n%s", name, len(fit), strings.Join(names, "\n"))
	}
	if one.Store = cmp.Or(one.Store, store); one.Store == "" { // the only one
		all, err := run.listStores(ctx)
		if err != nil || len(all) != 1 {
			return found{}, errors.Join(err, fmt.Errorf("the store of session %s is not known", one.ID))
		}
		one.Store = all[0]
	}
	return one, nil
}

// commandOf returns the command that answers a call. Every store and session of it was found in the home.
func (t *tool) commandOf(ctx context.Context, run Run, v values) (c command, err error) {
	c.words = slices.Clone(t.words)
	c.flags = slices.Clone(t.flags)
	var before, behind []string
	for _, a := range t.takes {
		value, ok := v[a.name]
		switch on, isTruth := value.(bool); {
		case !ok || isTruth && !on:
		case isTruth:
			c.flags = append(c.flags, "--"+a.flag)
		case a.flag != "":
			c.flags = append(c.flags, fmt.Sprint("--", a.flag, "=", value))
		case a.before:
			before = append(before, fmt.Sprint(value))
		default:
			behind = append(behind, fmt.Sprint(value))
		}
	}
	if t.words == nil { // an argument is the command
		c.words, before = before, nil
	}
	names, err := t.subjectOf(ctx, run, v)
	c.names = slices.Concat(before, names, behind)
	return c, err
}

// subjectOf returns the words for the subject of a call.
func (t *tool) subjectOf(ctx context.Context, run Run, v values) ([]string, error) {
	store, name := v.text("store"), v.text("session")
	switch t.on {
	case file:
		return fileOf(v)
	case pair:
		a, err := run.findSession(ctx, v.text("a"), "")
		if err != nil {
			return nil, err
		}
		b, err := run.findSession(ctx, v.text("b"), "")
		if err != nil {
			return nil, err
		}
		return []string{a.Store, lineOf(a.ID, v.text("aSnapshot")), b.Store, lineOf(b.ID, v.text("bSnapshot"))}, nil
	case all, sessions:
		if name == "" {
			if store == "" {
				return nil, nil
			}
			return []string{store}, run.checkStore(ctx, store)
		}
	}
	one, err := run.findSession(ctx, name, store)
	if err != nil {
		return nil, err
	}
	names := []string{one.Store, one.ID}
	if t.on == snapshots {
		at := v.text("snapshot")
		if at == "" {
			at = "head"
		}
		names = append(names, at)
	}
	return names, nil
}

// lineOf names the branch of a session that ends in a snapshot.
func lineOf(session, snapshot string) string {
	if snapshot == "" {
		return session
	}
	return session + ":" + snapshot
}

// fileOf names lines of a file. The path is whole, so that it is never taken for a kind of store.
func fileOf(v values) ([]string, error) {
	path, err := filepath.Abs(v.text("file"))
	if err != nil {
		return nil, err
	}
	lines := strconv.FormatInt(v.number("first"), 10)
	if last := v.number("last"); last > 0 {
		lines += "-" + strconv.FormatInt(last, 10)
	}
	return []string{path + ":" + lines}, nil
}
