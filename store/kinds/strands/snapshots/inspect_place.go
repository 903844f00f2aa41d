package snapshots

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"hindcast/model"
	"hindcast/store/media/files"
	"hindcast/store/media/tree"
	"hindcast/store/sdk"
)

// identifier is the pattern of the names that the SDK for TypeScript takes for
// sessions, agents and snapshots.
var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9_-]+$`) })

// checkNames looks at the names of the files in the folders.
func (c *checkup) checkNames(t tree.Tree) {
	c.checkFolder(t, "", func(name string) bool { return name == latestFile || name == historyDir })
	if tree.IsFolder(t, c.nameOf(historyDir)) {
		c.checkFolder(t, historyDir, func(name string) bool { return historyName().MatchString(name) })
	}
}

// checkIdentifiers looks at the names of the session and the agent, which the SDK
// that starts here may refuse. That for Python takes nearly any.
func (c *checkup) checkIdentifiers() {
	for _, named := range []struct {
		what, name string
		blank      sdk.Verdict // what Python says of a blank one
	}{
		{"session", c.sessionDir.id, sdk.Refuses("ValueError: session_id is not a valid session identifier")},
		{"agent", c.agent, sdk.Loads("it takes any name without a slash")},
	} {
		v := verdict{sdk.Loads("it takes any name without a slash"), sdk.Refuses("Error: Identifier can only contain lowercase letters, numbers, hyphens, and underscores")}
		if strings.TrimSpace(named.name) == "" {
			v.python = named.blank
		}
		f := c.judgeFault(model.Fault{Code: FaultIdentifier, File: c.pathOf(), Meaning: fmt.Sprintf("the %s is called %.60q", named.what, named.name)}, &item{name: latestFile}, v, sdk.From(sdk.First))
		if !identifier().MatchString(named.name) && f.Severity == model.Stops {
			c.addFault(f)
		}
	}
}

// checkFolder looks for files that do not belong into a folder.
func (c *checkup) checkFolder(t tree.Tree, dir string, belongs func(name string) bool) {
	names, err := t.List(c.nameOf(dir))
	if err != nil {
		c.addFault(model.Fault{Code: FaultDirectory, File: c.pathOf(dir), Meaning: "the folder cannot be read: " + err.Error(), Severity: model.Stops, Verdict: "refuses to start: it cannot be read"})
		return
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		switch file := c.pathOf(dir, name); {
		case belongs(name):
		case isTemporary(name):
			c.checkLeftover(file)
		case name == "manifest.json":
			c.addFault(model.Fault{Code: FaultManifest, File: file, Meaning: "no SDK is known to write a manifest", Verdict: "loads; no SDK reads it"})
		default:
			c.addFault(files.Stray(model.Fault{Code: FaultStray, File: file, Meaning: "the file is no snapshot", Verdict: "loads; the file is ignored"}))
		}
	}
}

// checkLeftover notes a temporary file, unless its writer may still be at work.
func (c *checkup) checkLeftover(file string) {
	if at, err := c.tree.Stamp(path.Join(c.way, file)); err == nil && at.IsAbandoned() {
		c.addFault(model.Fault{Code: FaultLeftover, File: file, Meaning: "a writer was stopped before it was done", Verdict: "loads; the file is ignored"})
	}
}

// checkHistory looks at the snapshots of an agent together.
func (c *checkup) checkHistory(h *history) {
	c.snapshotNames(h)
	c.checkOrder(h)
	c.checkLatest(h)
	c.checkDialects(h)
	c.checkPrompts()
	c.checkLineage(h)
}

func (c *checkup) snapshotNames(h *history) {
	for i := range h.items {
		it := &h.items[i]
		if it.isLatest() || it.aside != nil || uuid7().MatchString(it.id) {
			continue
		}
		v := verdict{
			python:     sdk.Loads("restoring it is a ValueError: not a valid snapshot id; " + c.sdkVersions(c.running, python, nil).Words(listsIDs, "it is not listed", "it is listed")),
			typeScript: sdk.Loads("it is listed by its name, and can be restored"),
		}
		if !identifier().MatchString(it.id) {
			v.typeScript = sdk.Loads("it is listed by its name, and restoring it is an Error: Identifier can only contain lowercase letters, numbers, hyphens, and underscores")
		}
		c.addFault(c.judgeFault(model.Fault{Code: FaultName, File: c.place.fileOf(it.name), Meaning: "the id in the name is no UUID of version 7"}, it, v, sdk.From(sdk.First)))
	}
}

// checkOrder compares the times in the files with the names, which begin with a time.
func (c *checkup) checkOrder(h *history) {
	var before *item
	for i := range h.items {
		it := &h.items[i]
		if it.isLatest() || it.aside != nil || it.Created.IsZero() || !uuid7().MatchString(it.id) {
			continue
		}
		if before != nil && it.Created.Before(before.Created) {
			c.addFault(model.Fault{Code: FaultOrder, File: c.place.fileOf(it.name), Meaning: fmt.Sprintf("it was created %v before the snapshot that is listed before it", before.Created.Sub(it.Created)),
				Verdict: "loads; snapshots are listed by their names"})
		}
		before = it
	}
}

// checkLatest looks at whether the framework starts from where it stopped.
func (c *checkup) checkLatest(h *history) {
	n := 0
	for i := range h.items {
		if h.items[i].aside == nil {
			n++
		}
	}
	if h.at < 0 {
		if n > 0 {
			c.addFault(model.Fault{Code: FaultNoLatest, File: c.pathOf(latestFile), Meaning: fmt.Sprintf("there are %d snapshots, but not the one that is loaded", n),
				Severity: model.Loses, Verdict: "starts anew, without messages; the snapshots can be restored by their ids"})
		}
		return
	}
	head := &h.items[h.headPosition()]
	var newest *item
	for i := range h.items[:h.at] {
		if it := &h.items[i]; it.aside == nil && (newest == nil || it.createdAt().After(newest.createdAt())) {
			newest = it
		}
	}
	if h.isRestored() {
		return // Hindcast put it there, and the timeline says so
	}
	if newest == nil || head.createdAt().IsZero() || !newest.createdAt().After(head.createdAt()) || newest.Sum == head.Sum {
		return
	}
	c.addFault(c.judgeFault(model.Fault{Code: FaultLatestBehind, File: c.pathOf(latestFile), Meaning: fmt.Sprintf("it is older than %s by %v: an earlier one was put back, or a writer was stopped between the two", c.place.fileOf(newest.name), newest.createdAt().Sub(head.createdAt()))},
		&h.items[h.at], verdict{
			python:     sdk.Loads("the older one; the SDK writes the other first, so that it may be all that is left of a save"),
			typeScript: sdk.Loads("the older one"),
		}, sdk.From(sdk.First)))
}

// checkDialects looks for files of the other SDK in one place.
func (c *checkup) checkDialects(h *history) {
	for i := range h.items {
		it := &h.items[i]
		if it.aside != nil || it.Dialect == unknownDialect || it.Dialect == c.dialect {
			continue
		}
		v := unstoredVerdict("Error: Unsupported snapshot schema version: undefined")
		if c.dialect == python {
			v = unstoredVerdict("SnapshotException: Failed to deserialize snapshot: 'created_at'")
		}
		c.addFault(model.Fault{Severity: v.Severity(), Code: FaultDialects, File: c.place.fileOf(it.name), Meaning: fmt.Sprintf("it was written by Strands for %s, and what is loaded here by that for %s", it.Dialect, c.dialect),
			Verdict: "Strands for " + string(c.dialect) + " " + v.Text()})
	}
}

// checkPrompts looks for snapshots with another system prompt than the newest.
func (c *checkup) checkPrompts() {
	for _, p := range c.prompts[min(1, len(c.prompts)):] {
		if p.text == c.prompts[0].text {
			continue
		}
		c.addFault(model.Fault{Code: FaultPrompt, File: p.file, Path: "/data", Meaning: fmt.Sprintf("its system prompt is not that of %s", c.prompts[0].file),
			Verdict: "loads; to restore it brings its own system prompt back, whatever the program was given"})
		return
	}
}

// checkLineage looks for snapshots that begin anew. Of all that can be odd about who
// follows whom it is the only thing that is not worked out to be so, and that
// the order of the names does not tell: see order.
func (c *checkup) checkLineage(h *history) {
	roots := 0
	for i := range h.items {
		it := &h.items[i]
		if it.aside != nil || it.Parent >= 0 || it.messages == 0 {
			continue
		}
		if roots++; roots > 1 && it.Problem == "" {
			c.addFault(model.Fault{Code: model.FaultSeveralRoots, File: c.place.fileOf(it.name), Meaning: "its messages go on with those of no earlier snapshot: another conversation, or all of them were taken out in between",
				Verdict: "loads; it is listed with the others: the SDKs know no lineage"})
		}
	}
}

// isFirst reports whether something was not said before in this place.
func (c *checkup) isFirst(words ...string) bool {
	key := strings.Join(words, "\x00")
	if c.said[key] {
		return false
	}
	c.said[key] = true
	return true
}
