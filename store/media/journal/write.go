package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/store/media/disk"
)

// write is a write that is being carried out, under the lock.
type write struct {
	j *Journal
	*intent
	// changing are the paths of the changes.
	changing map[string]bool
	// seen are the looks at the changes' paths before anything was done.
	seen []look
	// torn says that the journal may end in a torn record, and told has the parts that it
	// has for good.
	torn bool
	told map[sum]bool
	// have are the contents that kept/ was seen to have.
	have map[Version]bool
	// fresh counts the files that were made in out/.
	fresh int
	// staged are the copies in out/ of the contents that the changes bring, see stageCopies; "" without a copy.
	staged []string
}

func (j *Journal) newWrite(e *intent, h *history) *write {
	w := &write{j: j, intent: e, torn: h.torn, told: h.lastingParts(), changing: make(map[string]bool, len(e.Changes)), seen: make([]look, len(e.Changes)), staged: make([]string, len(e.Changes)), have: map[Version]bool{}}
	for _, c := range e.Changes {
		if c.Does != model.FileForgotten {
			w.changing[c.Path] = true
		}
	}
	return w
}

// appendRecord adds a record to the journal, and makes it durable.
func (w *write) appendRecord(r record) error {
	r.Torn = w.torn
	line, err := encodeRecord(r, w.told)
	if err != nil {
		return err
	}
	limit := int64(disk.MaxSize)
	if r.Entry != nil {
		limit -= ending
	}
	if info, err := w.j.disk.Lstat(fileName); err != nil {
		return err
	} else if info.Size()+int64(len(line)) > limit {
		return ErrFull
	}
	w.torn = true
	if err := w.j.disk.Append(fileName, line); err != nil {
		return err
	}
	w.torn = false
	return nil
}

// lookAll looks at the paths of all changes.
func (w *write) lookAll() error {
	return w.j.runParallel(len(w.Changes), func(i int, buf *[]byte) (err error) {
		if w.Changes[i].Does != model.FileForgotten {
			w.seen[i], err = w.j.lookAt(w.Changes[i].Path, buf)
		}
		return err
	})
}

// checkExpected checks that everything is as the plan saw it.
func (w *write) checkExpected() error {
	if err := w.lookAll(); err != nil {
		return err
	}
	for i, c := range w.Changes {
		if c.Does != model.FileForgotten && !w.seen[i].same(c.Before) {
			return &ConflictError{Path: c.Path, Found: describeChange(c.Before, w.seen[i].Version)}
		}
	}
	return w.checkGuards()
}

// checkChanges checks that all changes are as they were made. Which names are free is told
// by one look at each folder.
func (w *write) checkChanges() error {
	names := map[string][]string{}
	var written []int
	for i, c := range w.Changes {
		switch {
		case c.Does == model.FileForgotten:
		case c.After.file():
			written = append(written, i)
		case c.After.None() && c.Before.file():
			dir := path.Dir(c.Path)
			list, listed := names[dir]
			if !listed {
				var err error
				if list, err = w.j.disk.Names(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				names[dir] = list
			}
			if _, there := slices.BinarySearch(list, path.Base(c.Path)); there {
				return &ConflictError{Path: c.Path, Found: "appeared"}
			}
		}
	}
	return w.j.runParallel(len(written), func(i int, buf *[]byte) error {
		c := w.Changes[written[i]]
		now, err := w.j.lookAt(c.Path, buf)
		if err == nil && now.Version != c.After {
			err = &ConflictError{Path: c.Path, Found: describeChange(c.After, now.Version)}
		}
		return err
	})
}

// describeChange says in a few words what happened to a path.
func describeChange(before, now Version) string {
	switch {
	case before.None():
		return "appeared"
	case now.None():
		return "was removed"
	case before.SHA256 == now.SHA256:
		return "got other permissions"
	}
	return "was changed"
}

// checkGuards checks that the guards hold, and that folders which are to go have nothing
// in them that came since.
func (w *write) checkGuards() error {
	for _, g := range w.Guards {
		if err := w.checkGuard(g); err != nil {
			return err
		}
	}
	for _, c := range w.Changes {
		if !c.Before.Folder || !c.After.None() {
			continue
		}
		names, err := w.j.disk.Names(c.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, name := range names {
			if !w.j.o.Ignore(name) && !w.changing[path.Join(c.Path, name)] {
				return &ConflictError{Path: path.Join(c.Path, name), Found: "appeared"}
			}
		}
	}
	return nil
}

// checkGuard checks one guard. What changes itself is looked at with the changes.
func (w *write) checkGuard(g Guard) error {
	if w.changing[g.Path] && !g.Version.Folder {
		return nil
	}
	now, err := w.j.Version(g.Path)
	if err != nil {
		return err
	}
	if !now.same(g.Version) {
		return &ConflictError{Path: g.Path, Found: describeChange(g.Version, now)}
	}
	if !g.Version.Folder || g.Others == "" {
		return nil
	}
	names, err := w.j.disk.Names(g.Path)
	if err != nil {
		return err
	}
	if w.j.hashOthers(g.Path, names, w.changing) != g.Others {
		return &ConflictError{Path: g.Path, Found: "got or lost a file"}
	}
	return nil
}

// outPath is where the file of the i-th change is while it goes from one place to
// another. After a crash the name tells where it belongs.
func (w *write) outPath(i int) string { return fmt.Sprintf("%s/%d.%d", outName, w.ID, i) }

// createFile makes a file in out/ that no other program has seen yet, durable.
func (w *write) createFile(data []byte, mode fs.FileMode) (string, error) {
	name := w.unusedName()
	if err := w.discardFile(name); err != nil {
		return "", err
	}
	return name, w.j.disk.Create(name, data, mode)
}

// unusedName returns a name in out/ that no file of the write has.
func (w *write) unusedName() string {
	w.fresh++
	return fmt.Sprintf("%s/%s%d.%d", outName, newPrefix, w.ID, w.fresh)
}

// newPrefix begins the names in out/ of files whose bytes may be torn.
const newPrefix = "new-"

func (w *write) discardFile(name string) error {
	if err := w.j.disk.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// keepNew makes sure that kept/ has a new content.
func (w *write) keepNew(data []byte, v Version, buf *[]byte) error {
	there, err := w.isKept(v, buf)
	if err != nil || there {
		return err
	}
	if w.j.turner != nil {
		return w.j.turner.Create(v.keptPath(), data, v.Mode)
	}
	name, err := w.createFile(data, v.Mode)
	if err == nil {
		err = w.j.disk.Place(name, v.keptPath())
	}
	return err
}

// isKept reports whether kept/ has a content. Its mode is in its name: the file itself
// may have got another. The error is a KeptError where something else has the name.
func (w *write) isKept(v Version, buf *[]byte) (bool, error) {
	if w.have[v] {
		return true, nil
	}
	found, err := w.j.lookAt(v.keptPath(), buf)
	switch {
	case errors.Is(err, disk.ErrSymlink), errors.Is(err, disk.ErrNotRegular):
	case err != nil || found.None():
		return false, err
	case found.SHA256 == v.SHA256:
		return true, nil
	}
	return false, &KeptError{Names: []string{v.keptPath()}}
}

// stageCopies makes a copy in out/ of what each of some changes brings, durable, which then
// takes its place in one step: nothing in the store ever shares its bytes with what is
// kept. The content of a file that the draft copies comes from there; the draft may be
// nil.
// After an error nothing is staged.
func (w *write) stageCopies(changes []Change, which []int, d *Draft) error {
	staged := make([]string, len(which))
	err := w.j.runParallel(len(which), func(n int, buf *[]byte) (err error) {
		staged[n], err = w.copyOf(changes[which[n]], which[n], d, buf)
		return err
	})
	if err == nil {
		err = w.j.disk.Flush(staged)
	}
	if err != nil {
		return err
	}
	for n, i := range which {
		w.staged[i] = staged[n]
	}
	return nil
}

// bringingChanges returns the changes that bring a content which their path does not have.
func (w *write) bringingChanges() (which []int) {
	for i, c := range w.Changes {
		if c.After.file() && w.seen[i].Version != c.After {
			which = append(which, i)
		}
	}
	return which
}

// copyOf copies the content that the i-th change brings, and looks at what it copied.
func (w *write) copyOf(c Change, i int, d *Draft, buf *[]byte) (string, error) {
	name := fmt.Sprintf("%s/%s%d.of.%d", outName, newPrefix, w.ID, i)
	if w.j.turner != nil { // what takes the place is copied there at once
		name = c.After.keptPath()
	}
	if from, live := d.findSource(c.After); live {
		if w.j.turner != nil {
			name = from
		}
		return name, w.copyLive(from, name, c.After, buf)
	}
	same, err := w.copyFile(c.After.keptPath(), name, c.After, buf)
	switch missing := errors.Is(err, fs.ErrNotExist); {
	case missing && c.Does == model.FileCopied && d == nil:
		return "", errCopy
	case missing:
		return "", w.purgedError(c.Path, c.After)
	case err == nil && !same:
		return "", &KeptError{Names: []string{c.After.keptPath()}}
	}
	return name, err
}

// copyLive copies a file of the store that is to have a content. The error is a
// ConflictError where it has another one.
func (w *write) copyLive(from, name string, v Version, buf *[]byte) error {
	same, err := w.copyFile(from, name, v, buf)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &ConflictError{Path: from, Found: "was removed"}
	case err == nil && !same:
		return &ConflictError{Path: from, Found: "was changed"}
	}
	return err
}

// copyFile copies a file to a name in out/, and reports whether the copy has the content.
func (w *write) copyFile(from, name string, v Version, buf *[]byte) (same bool, err error) {
	if from == name {
		return w.holdsStill(name, v, buf)
	}
	err = w.j.disk.Copy(from, name, v.Mode)
	if errors.Is(err, fs.ErrExist) { // it failed before
		if err = w.discardFile(name); err == nil {
			err = w.j.disk.Copy(from, name, v.Mode)
		}
	}
	if errors.Is(err, disk.ErrSymlink) || errors.Is(err, disk.ErrNotRegular) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	now, err := w.j.lookAt(name, buf)
	return now.Version == v, err
}

// holdsStill reports whether a file that is copied later has a content.
func (w *write) holdsStill(name string, v Version, buf *[]byte) (bool, error) {
	if w.have[v] && name == v.keptPath() {
		return true, nil
	}
	found, err := w.j.lookAt(name, buf)
	if err == nil && found.None() {
		err = fs.ErrNotExist
	}
	return found.Version == v, err
}

func (w *write) purgedError(name string, v Version) error {
	gone := &PurgedError{Path: name}
	if h, err := w.j.readHistory(); err == nil {
		gone.By = h.forgotBy(v)
	}
	return gone
}

// forgotBy returns the entry that forgot a content, 0 if no entry did.
func (h *history) forgotBy(v Version) int64 {
	for _, e := range slices.Backward(h.entries) {
		forgets := func(c Change) bool { return c.Before.SHA256 == v.SHA256 }
		if e.Op == model.OpPurge && slices.ContainsFunc(e.Changes(), forgets) {
			return e.ID
		}
	}
	return 0
}

// moveToKept moves a file that is not needed where it is under the name of its content in
// kept/, unless that is there. The error is that of isKept where something else has
// the name.
func (w *write) moveToKept(name string, v Version) error {
	err := w.j.disk.Place(name, v.keptPath())
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	there, err := w.isKept(v, nil)
	switch {
	case err != nil:
		return err
	case there:
		return w.discardFile(name)
	}
	return w.j.disk.Place(name, v.keptPath())
}

// makeChange makes the i-th change, or one that takes it back. seen is the look at its
// path before.
func (w *write) makeChange(i int, c Change, seen look) error {
	switch {
	case w.j.turner != nil && !c.After.Folder && !c.Before.Folder:
		return w.turnChange(i, c, seen)
	case c.After.Folder:
		err := w.j.disk.Mkdir(c.Path, c.After.Mode)
		switch {
		case errors.Is(err, fs.ErrExist):
			return &ConflictError{Path: c.Path, Found: "appeared"}
		case errors.Is(err, fs.ErrNotExist):
			return &ConflictError{Path: path.Dir(c.Path), Found: "was removed"}
		}
		return err
	case c.Before.Folder:
		return w.removeFolder(c.Path)
	case c.After.None():
		return w.setAside(i, c, seen)
	case c.Before.None():
		return w.appearAt(i, c)
	}
	return w.replaceFile(i, c, seen)
}

// turnChange makes a change on a [disk.Turner]. The old content is kept before the intent is
// told, but for what a fork copied.
func (w *write) turnChange(i int, c Change, seen look) error {
	if c.Before.file() {
		if there, err := w.isKept(c.Before, nil); err != nil || !there {
			if err == nil {
				err = w.keepLive(c.Path, c.Before, seen)
			}
			if err != nil {
				return err
			}
		}
	}
	from := ""
	if c.After.file() {
		from = w.staged[i]
	}
	err := w.j.turner.Turn(c.Path, seen.info, from)
	if !errors.Is(err, disk.ErrChanged) {
		return err
	}
	now, err := w.j.Version(c.Path)
	switch {
	case err != nil:
		return err
	case now == c.After:
		return nil // by a request whose answer did not come
	}
	return &ConflictError{Path: c.Path, Found: describeChange(c.Before, now)}
}

// keepLive keeps what a file holds that was looked at.
func (w *write) keepLive(name string, v Version, seen look) error {
	err := w.j.turner.Keep(name, seen.info, v.keptPath())
	if errors.Is(err, disk.ErrChanged) || errors.Is(err, fs.ErrNotExist) {
		err = &ConflictError{Path: name, Found: "was changed"}
	}
	return err
}

// removeFolder removes a folder if it is empty: what came into it is not ours.
func (w *write) removeFolder(name string) error {
	err := w.j.disk.Remove(name)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if names, failed := w.j.disk.Names(name); failed == nil && len(names) > 0 {
		return nil
	}
	return err
}

// setAside moves a file into kept/, or out of the way if its content is there, and
// looks at what it moved.
func (w *write) setAside(i int, c Change, seen look) error {
	to := c.Before.keptPath()
	err := w.j.disk.Place(c.Path, to)
	if errors.Is(err, fs.ErrExist) {
		var there bool
		if there, err = w.isKept(c.Before, nil); err != nil {
			return err
		}
		if there {
			to = w.outPath(i)
		}
		if err = w.j.disk.Place(c.Path, to); there && errors.Is(err, fs.ErrExist) {
			if err = w.clearName(to); err == nil {
				err = w.j.disk.Place(c.Path, to)
			}
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &ConflictError{Path: c.Path, Found: "was removed"}
	}
	if err != nil {
		return err
	}
	same, err := w.j.isStill(to, seen)
	switch {
	case err != nil:
		return err
	case !same:
		return &ConflictError{Path: c.Path, Found: "was changed"} // it is put back, see rescueFile
	case to != c.Before.keptPath():
		return w.j.disk.Remove(to)
	}
	return nil
}

// appearAt puts at a free path the content that was staged for it.
func (w *write) appearAt(i int, c Change) error {
	err := w.j.disk.Place(w.staged[i], c.Path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return &ConflictError{Path: c.Path, Found: "appeared"}
	case errors.Is(err, fs.ErrNotExist):
		if found, failed := w.j.Version(path.Dir(c.Path)); failed == nil && !found.Folder {
			return &ConflictError{Path: path.Dir(c.Path), Found: "was removed"}
		}
	}
	return err
}

// replaceFile exchanges a file with its successor, and looks at what came out.
func (w *write) replaceFile(i int, c Change, seen look) error {
	staged := w.outPath(i)
	if err := w.clearName(staged); err != nil {
		return err
	}
	if err := w.j.disk.Rename(w.staged[i], staged); err != nil {
		return err
	}
	err := w.j.disk.Exchange(staged, c.Path)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return w.renameOver(staged, c, seen)
	case errors.Is(err, fs.ErrNotExist):
		return &ConflictError{Path: c.Path, Found: "was removed"}
	case err != nil:
		return err
	}
	same, err := w.j.isStill(staged, seen)
	switch {
	case err != nil:
		return err
	case !same:
		return &ConflictError{Path: c.Path, Found: "was changed"} // it is put back, see rescueFile
	}
	return w.moveToKept(staged, c.Before)
}

// renameOver replaces a file where files cannot be exchanged: a copy is kept first, with the
// file's time, and it is compared just before.
func (w *write) renameOver(staged string, c Change, seen look) error {
	there, err := w.isKept(c.Before, nil)
	if err == nil && !there {
		var buf []byte
		name := w.unusedName()
		if err = w.copyLive(c.Path, name, c.Before, &buf); err == nil {
			err = w.j.disk.Sync(name)
		}
		if err == nil {
			err = w.j.disk.Place(name, c.Before.keptPath())
		}
	}
	if err == nil {
		err = w.j.disk.Sync(keptName)
	}
	if err != nil {
		return err
	}
	same, err := w.j.isStill(c.Path, seen)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &ConflictError{Path: c.Path, Found: "was removed"}
	case err != nil:
		return err
	case !same:
		return &ConflictError{Path: c.Path, Found: "was changed"}
	}
	return w.j.disk.Rename(staged, c.Path)
}

// forgetContent deletes a content in all modes in which it is kept.
func (w *write) forgetContent(v Version) error {
	names, err := w.j.disk.Names(keptName)
	if err != nil {
		return err
	}
	at, _ := slices.BinarySearch(names, v.SHA256)
	for _, name := range names[at:] {
		if !strings.HasPrefix(name, v.SHA256) {
			break
		}
		if err := w.discardFile(path.Join(keptName, name)); err != nil {
			return err
		}
	}
	return nil
}

// rescueFile puts back what a change moved away although it was another program's: the
// change saw so and was broken off, or was killed before it could look.
func (w *write) rescueFile(i int) error {
	c := w.Changes[i]
	if !c.Before.file() || c.Does == model.FileForgotten || w.j.turner != nil {
		return nil
	}
	foreign := func(name string, ours ...Version) (bool, error) {
		now, err := w.j.Version(name)
		if errors.Is(err, disk.ErrSymlink) || errors.Is(err, disk.ErrNotRegular) {
			return true, nil
		}
		return err == nil && !now.None() && !slices.Contains(ours, now), err
	}
	now, err := w.j.Version(c.Path)
	if err != nil {
		return err
	}
	switch {
	case c.After.None() && now.None():
		for _, name := range []string{w.outPath(i), c.Before.keptPath()} {
			if theirs, err := foreign(name, c.Before); err != nil || theirs {
				if theirs {
					err = w.j.disk.Place(name, c.Path)
				}
				if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
					err = nil // they wrote once more, or its folder went after it; it is kept
				}
				return err
			}
		}
	case c.After.file():
		// The one that comes out may be theirs again, and then is newer.
		for range 10 {
			theirs, err := foreign(w.outPath(i), c.Before, c.After)
			if err != nil || !theirs {
				return err
			}
			if now, err := w.j.Version(c.Path); err != nil || now != c.After {
				return err
			}
			if err := w.j.disk.Exchange(w.outPath(i), c.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// clearName makes a name in out/ free.
func (w *write) clearName(name string) error {
	if strings.HasPrefix(path.Base(name), newPrefix) {
		return w.discardFile(name)
	}
	now, err := w.j.Version(name)
	switch {
	case errors.Is(err, disk.ErrSymlink):
		return w.discardFile(name)
	case errors.Is(err, disk.ErrNotRegular):
		return nil // nothing that anybody can lose
	case err != nil || now.None():
		return err
	case now.Folder:
		return w.removeFolder(name)
	}
	return w.moveToKept(name, now)
}

// sweepOut empties out/: what is in it and nowhere else is kept.
func (w *write) sweepOut() error {
	names, err := w.j.disk.Names(outName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		err := w.clearName(path.Join(outName, name))
		if damaged := (*KeptError)(nil); err != nil && !errors.As(err, &damaged) {
			return err // what has the name of a damaged content stays where it is
		}
	}
	return nil
}

// syncFolders makes the names durable that the changes changed, each folder once.
func (w *write) syncFolders() error {
	folders := map[string]bool{keptName: true}
	for _, c := range w.Changes {
		if c.Does != model.FileForgotten {
			folders[path.Dir(c.Path)] = true
		}
	}
	var list []string
	for dir := range folders {
		list = append(list, dir)
	}
	slices.Sort(list)
	for _, dir := range list {
		if err := w.j.disk.Sync(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// takeBack takes back the first n changes; the last may be done in part or
// not at all. What another program wrote meanwhile stays. why is the error for which
// it is done; it becomes part of an UnfinishedError if that fails, and of a LeftError
// if it fails because a content is lost.
func (w *write) takeBack(n int, why error) error {
	var err error // the first of maybe thousands
	try := func(next error) {
		if err == nil || next != nil && isLost(err) && !isLost(next) {
			err = next
		}
	}
	// Without the record, a crash from here on ends in the write being finished.
	if !w.taking {
		w.appendRecord(record{Taking: w.ID, Why: why.Error()})
	}
	if n > 0 {
		if failed := w.rescueFile(n - 1); failed != nil { // sweep would keep what is theirs, and Recover not find it
			return &UnfinishedError{w.ID, errors.Join(why, failed)}
		}
	}
	try(w.sweepOut())
	w.staged = make([]string, len(w.Changes))
	back, which := w.toTakeBack(n)
	_ = w.stageCopies(back, which, nil) // what fails is tried again when its turn comes
	for i := range slices.Backward(back) {
		try(w.changeBack(i, back[i]))
	}
	try(w.syncFolders())
	if err == nil {
		err = w.appendRecord(record{Back: w.ID, Why: why.Error()})
	}
	if isLost(err) { // and is so tomorrow
		why = &LeftError{w.ID, errors.Join(why, err)}
		err = w.appendRecord(record{Off: w.ID, Why: why.Error()})
	}
	if err != nil {
		return &UnfinishedError{w.ID, errors.Join(why, err)}
	}
	return why
}

// toTakeBack returns the changes that take the first n changes back, and which of them bring a
// content again.
func (w *write) toTakeBack(n int) (back []Change, which []int) {
	back = make([]Change, n)
	for i, c := range w.Changes[:n] {
		back[i] = reverseChange(c)
	}
	done := make([]bool, n)
	_ = w.j.runParallel(n, func(i int, buf *[]byte) error { // what cannot be read shows later
		now, err := w.j.lookAt(back[i].Path, buf)
		done[i] = err == nil && now.same(back[i].Before) && !now.same(back[i].After)
		return nil
	})
	for i := range back {
		if done[i] && back[i].After.file() {
			which = append(which, i)
		}
	}
	return back, which
}

// changeBack makes a change that takes the i-th one back, if that is done.
func (w *write) changeBack(i int, back Change) error {
	now, err := w.j.lookAt(back.Path, nil)
	switch {
	case errors.Is(err, disk.ErrSymlink) || errors.Is(err, disk.ErrNotRegular):
		return nil // theirs
	case err != nil:
		return err
	case now.same(back.After) || !now.same(back.Before):
		return nil
	}
	if back.After.file() && w.staged[i] == "" {
		if w.staged[i], err = w.copyOf(back, i, nil, nil); err == nil {
			err = w.j.disk.Sync(w.staged[i])
		}
		if err != nil {
			return err
		}
	}
	err = w.makeChange(i, back, now)
	if conflict := (*ConflictError)(nil); errors.As(err, &conflict) {
		// Theirs, and newer than ours.
		theirs := *w
		undo := *w.intent
		undo.Changes = slices.Clone(w.Changes)
		undo.Changes[i] = back
		theirs.intent = &undo
		err = theirs.rescueFile(i)
	}
	return err
}

// reverseChange returns the change that takes a change back.
func reverseChange(c Change) Change {
	does := model.FilePutBack
	switch {
	case c.Before.None():
		does = model.FileSetAside
	case c.Before.Folder:
		does = model.FileMade
	}
	return Change{c.Path, does, c.After, c.Before}
}

// reverseChanges returns the changes that take changes back.
func reverseChanges(changes []Change) []Change {
	back := make([]Change, 0, len(changes))
	for _, c := range slices.Backward(changes) {
		back = append(back, reverseChange(c))
	}
	return back
}
