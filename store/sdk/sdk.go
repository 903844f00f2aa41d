// Package sdk has versions of the SDKs that read a store, and what depends on them.
//
// The SDKs do not do the same in all their versions. What differs is a [Rule], which
// holds since one version; each kind of store keeps a table of them. A store says from
// what is in it which versions may have written it: that is a [Span]. Whatever depends
// on a version asks the span, so that nothing else compares versions.
package sdk

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"hindcast/store"
)

// Version is a version of an SDK without its patches.
type Version struct{ Major, Minor int }

// The names of the SDKs, as they stand where a version of one is given.
const (
	StrandsPython     = "strands-python"
	StrandsTypeScript = "strands-typescript"
	GenkitGo          = "genkit-go"
	GenkitJavaScript  = "genkit-js"
	GenkitPython      = "genkit-python"
)

// First is the first version that is known of one of Strands.
var First = Version{1, 0}

// Parse reads "1.30" or "1.30.2".
func Parse(text string) (v Version, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return v, false
	}
	for i, to := range []*int{&v.Major, &v.Minor, new(int)}[:len(parts)] {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return Version{}, false
		}
		*to = int(n)
	}
	return v, true
}

// Compare returns a negative number if v is before o, 0 if they are one version.
func (v Version) Compare(o Version) int {
	return cmp.Or(cmp.Compare(v.Major, o.Major), cmp.Compare(v.Minor, o.Minor))
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Rule is something that an SDK does since a version.
type Rule struct{ since Version }

// RuleSince returns a rule that holds from a version on.
func RuleSince(major, minor int) Rule { return Rule{Version{major, minor}} }

// FirstVersion returns the first version with the rule.
func (r Rule) FirstVersion() Version { return r.since }

// Before says in words up to where the rule does not hold.
func (r Rule) Before() string { return "before " + r.since.String() }

// Opens has, for each SDK that opens a kind of store, since which version it does.
type Opens map[string]Rule

// Names returns the names of the SDKs, in order.
func (o Opens) Names() []string { return slices.Sorted(maps.Keys(o)) }

// Span returns the versions in question of one of the SDKs: the one that is said to run,
// or all that open such a store.
func (o Opens) Span(name string, running *Running) Span {
	if v := running.Of(name); v != nil {
		return Only(*v)
	}
	return From(o[name].since)
}

// asks says in words what can be given.
func (o Opens) asks() string {
	var list []string
	for _, name := range o.Names() {
		list = append(list, fmt.Sprintf("%s@VERSION, of %s or later", name, o[name].since))
	}
	return strings.Join(list, "; or ")
}

// earlier says in brackets what was before the rule.
func (r Rule) earlier(text string) string { return " (" + r.Before() + ": " + text + ")" }

// Span is the range of versions in question: one assumed version, or all from one on. Texts show what its
// newest version does.
type Span struct {
	from Version
	// only says that from is the one.
	only bool
}

// From returns the versions from one on.
func From(v Version) Span { return Span{from: v} }

// Only returns one version.
func Only(v Version) Span { return Span{from: v, only: true} }

// LastBefore returns the newest version without a rule; no major number begins with one.
func LastBefore(r Rule) Span { return Only(Version{r.since.Major, r.since.Minor - 1}) }

// Has reports whether a version is in question.
func (s Span) Has(v Version) bool {
	if s.only {
		return v == s.from
	}
	return v.Compare(s.from) >= 0
}

// AllFollow reports whether all versions in question follow a rule.
func (s Span) AllFollow(r Rule) bool { return s.from.Compare(r.since) >= 0 }

// NewestFollows reports whether the newest version in question follows a rule.
func (s Span) NewestFollows(r Rule) bool { return !s.only || s.AllFollow(r) }

// Differ reports whether some versions in question follow a rule and others do not.
func (s Span) Differ(r Rule) bool { return !s.only && !s.AllFollow(r) }

// Words returns the text about something that depends on a rule: now for the newest version, and in brackets
// before for the versions without the rule.
func (s Span) Words(r Rule, now, before string) string {
	switch {
	case s.AllFollow(r):
		return now
	case s.only:
		return before
	}
	return now + r.earlier(before)
}

// Running holds the SDK versions that the user assumes, at most one for each SDK. It is safe for concurrent
// use.
type Running struct {
	versions atomic.Pointer[map[string]running]
}

// running is a version that is said to run, and the file that says so.
type running struct {
	Version
	from string
}

// Assume takes a version of one of the SDKs that open a kind of store. The error is
// [store.ErrUnknownSDK].
func (r *Running) Assume(kind string, opens Opens, said store.Release) error {
	v, ok := Parse(said.Version)
	if since, known := opens[said.SDK]; !known || !ok || v.Compare(since.since) < 0 {
		return fmt.Errorf("%s: %.40q %.40q: %w: give %s", kind, said.SDK, said.Version, store.ErrUnknownSDK, opens.asks())
	}
	for {
		old := r.versions.Load()
		made := make(map[string]running)
		if old != nil {
			made = maps.Clone(*old)
		}
		made[said.SDK] = running{v, said.From}
		if r.versions.CompareAndSwap(old, &made) {
			return nil
		}
	}
}

// ListAssumed returns the assumed versions.
func (r *Running) ListAssumed() (list store.Releases) {
	if versions := r.versions.Load(); versions != nil {
		for _, name := range slices.Sorted(maps.Keys(*versions)) {
			v := (*versions)[name]
			list = append(list, store.Release{SDK: name, Version: v.String(), From: v.from})
		}
	}
	return list
}

// Of returns the assumed version of an SDK, or nil. A nil r has no versions.
func (r *Running) Of(name string) *Version {
	if r == nil {
		return nil
	}
	if versions := r.versions.Load(); versions != nil {
		if v, ok := (*versions)[name]; ok {
			return &v.Version
		}
	}
	return nil
}
