package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
	"hindcast/store/home"
	"hindcast/store/survey"
)

// doctorCommand is `hindcast doctor`.
func (a *App) doctorCommand() *cobra.Command {
	secrets := false
	cmd := &cobra.Command{
		Use:   "doctor [STORE...] [SESSION]",
		Short: "list every fault found, with the framework's own verdict",
		Long: `Doctor says as what a store was recognised, and lists every fault that it finds
in it and in its sessions, or in SESSION alone, with the verdict that the framework
itself would give. The exit code is 3 when there are faults.

A directory that is no store itself is searched: doctor lists the stores below it,
as what each was recognised and why, and what was passed over. If there is one
only, it is examined too. If there is none, the exit code is 1.

It notes the sessions that their tool deletes for their age within two weeks, which
hindcast keep keeps; and with --secrets where texts have secrets of a known shape, by
place and kind, never the secrets themselves.

It changes nothing; where hindcast repair or hindcast purge can mend something, a
hindcast fork stays when the session goes, or hindcast fork --join makes one of pieces,
it says so. With --json a store gives an array of
{fault, severity, file, path, meaning, verdict, next, stays, sdk}, and a directory that is no store one object,
{stores: [{path, kind, why}], passedOver: [{path, why}]}, with faults if there is
one store only.`,
		Example: `  hindcast doctor ~/.strands/sessions
  hindcast doctor ~/.strands/sessions chat
  hindcast doctor --secrets`,
		Args:              a.argsCheck(oneOrAll),
		ValidArgsFunction: a.completeSnapshot(0),
		RunE: a.runReading(func(ctx context.Context, p *printer, args []string) error {
			dir := a.Getenv(storeVariable)
			if len(args) > 0 {
				dir = args[0]
			}
			if len(args) < 2 && isDirectory(dir) {
				if _, err := a.Kinds.Identify(ctx, dir); errors.Is(err, store.ErrUnrecognised) {
					return a.surveyFolder(ctx, p, dir, secrets)
				}
			}
			return a.withSubject(oneOrAll, func(ctx context.Context, p *printer, of *subject) error { return a.doctorOf(ctx, p, of, secrets) })(ctx, p, args)
		}),
	}
	cmd.Flags().BoolVar(&secrets, "secrets", false, "note where texts have secrets")
	return cmd
}

// doctorOf lists the faults of a session, or of the stores. A store that cannot be looked at does not keep the others
// from it. It looks for secrets if secrets is true.
func (a *App) doctorOf(ctx context.Context, p *printer, of *subject, secrets bool) (failed error) {
	all := []remedied{}
	first := true
	for s, err := range of.home.FindStores(ctx) {
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if of.session != "" && s != of.in {
			continue
		}
		if !first && !p.json {
			p.WriteByte('\n')
		}
		first = false
		faults, err := a.examineOf(ctx, p, of, s, secrets)
		all, failed = append(all, faults...), errors.Join(failed, err)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if first && failed == nil {
		failed = noStore()
	}
	if p.json && failed == nil {
		failed = writeArray(p, sequenceOf(all))
	}
	if failed == nil {
		failed = harmError(all)
	}
	return failed
}

// examineOf returns the faults of a store, or of the session of it that is meant, and writes them unless they go into a
// document.
func (a *App) examineOf(ctx context.Context, p *printer, of *subject, s *home.Store, secrets bool) ([]remedied, error) {
	opened, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	seen, err := a.examineStore(ctx, &s.Identity, opened, &of.info, of.nameStore(s), secrets)
	if err != nil {
		return nil, err
	}
	faults := faultsOf(seen.list, seen.release)
	if p.json {
		for i := range faults {
			if of.home.CountStores() > 1 && of.session == "" {
				faults[i].Store = opened.Address()
			}
		}
		return faults, nil
	}
	p.writeIdentity(&s.Identity, of)
	p.writeRelease(seen.release)
	if err = a.writeOthers(ctx, p, &s.Identity); err == nil {
		p.writeCheckups(seen.list, seen.framework, s.At)
		p.writeRequests(seen)
	}
	return faults, err
}

// examined is the result of an examination of a store.
type examined struct {
	list []checkup
	// framework is the one whose store it is, "" where that is not known: a server has stores
	// of several.
	framework string
	// release is for which version of an SDK the store was opened, "" for any.
	release string
	// asked are the requests that it took, remote says that there is a server to ask, and kind
	// is that of the files which it has.
	asked  store.Requests
	remote bool
	kind   string
}

// examineStore looks at one session, or at all of a store where that has no id. The address is the one by which a person
// names the store.
func (a *App) examineStore(ctx context.Context, id *store.Identity, s store.Store, session *model.SessionInfo, address string, secrets bool) (e examined, err error) {
	if e.list, err = runCheckups(ctx, s, session); err != nil {
		return e, err
	}
	for i := range e.list {
		c := &e.list[i]
		addRemedies(ctx, s, c, shellWord(address), a.serverFlag(id))
		c.addEnd(shellWord(address))
		if secrets && c.of != "" {
			if err := c.addSecrets(ctx, s); err != nil {
				return e, fmt.Errorf("look for secrets in session %q: %w", c.of, err)
			}
		}
	}
	own, _ := a.Kinds.FindKind(s.Kind())
	e.framework = cmp.Or(id.Framework, own.Framework)
	e.release = store.AssumedBy(s).String()
	e.asked, e.remote = store.CountRequests(s)
	e.kind = s.Kind()
	return e, nil
}

// writeRequests tells how many requests a look at a store took.
func (p *printer) writeRequests(e examined) {
	if !e.remote {
		return
	}
	parts := []string{}
	for _, part := range []struct {
		n    int64
		what string
	}{{e.asked.List, "LIST"}, {e.asked.Get, "GET"}, {e.asked.Head, "HEAD"}, {e.asked.Put, "PUT"}, {e.asked.Delete, "DELETE"}, {e.asked.Again, "made again"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	p.writeSentence("", fmt.Sprintf("its files are those of %s; this took %d requests: %s", e.kind, e.asked.All(), strings.Join(parts, ", ")))
}

// serverFlag returns the flag that names the server in a command on a store, or "".
func (a *App) serverFlag(id *store.Identity) string {
	if a.endpoint == "" || id.Kind.At == nil {
		return ""
	}
	return " --endpoint " + shellWord(a.endpoint)
}

// addRemedies adds to a checkup the commands that mend its faults. They name the store by a word,
// and its server behind all others. That a plan cannot be made is no reason to fail.
func addRemedies(ctx context.Context, s store.Store, c *checkup, named, server string) {
	switch {
	case len(model.Harmful(c.faults)) == 0:
		return
	case c.of == "":
		c.stays = "it is of no session, and a repair is of one"
		return
	}
	command := func(op model.Op) string {
		return fmt.Sprintf("hindcast %s %s %s%s", op, named, shellWord(c.of), server)
	}
	var none *model.UnsupportedError
	c.stays = "nothing that Hindcast can repair"
	plan := s.Features().Plan
	if plan == nil {
		return
	}
	of := model.Ref{Session: c.of}
	switch _, err := plan(ctx, model.Change{Op: model.OpRepair, Ref: of}); {
	case err == nil:
		c.next, c.stays = append(c.next, command(model.OpRepair)), ""
	case errors.As(err, &none):
		c.stays = none.Reason
	}
	if i := slices.IndexFunc(c.faults, func(f model.Fault) bool { return f.Copy != "" }); i >= 0 {
		c.next = append(c.next, fmt.Sprintf("hindcast %s %s %s %s%s", model.OpFork, named, shellWord(c.of), shellWord(c.faults[i].Copy), server))
	}
	if slices.ContainsFunc(c.faults, func(f model.Fault) bool { return f.Joins }) {
		c.next = append(c.next, fmt.Sprintf("hindcast %s %s %s --join%s", model.OpFork, named, shellWord(c.of), server))
	}
	if _, err := plan(ctx, model.Change{Op: model.OpPurge, Ref: of, Scope: model.PurgeRedacted}); err == nil {
		c.next = append(c.next, command(model.OpPurge))
	}
}

// checkup has the faults of one session, or of the store itself.
type checkup struct {
	of     string // "" for the store
	info   model.SessionInfo
	faults []model.Fault
	// next are the commands that mend some of the faults, or save the session from them.
	next []string
	// stays says why those stay that cost something, where no repair mends them.
	stays string
}

// goesOn is why a fault may stay that costs nothing.
const goesOn = "goes on all the same"

// whyStays returns why a fault stays. It returns "" for a note, and for a fault that a repair
// may mend or a fork does not have.
func (c *checkup) whyStays(f *model.Fault) string {
	switch {
	case c.stays == "" || f.Copy != "" || f.Joins || f.Severity == model.Note:
		return ""
	case f.Severity < model.Loses && len(c.next) > 0:
		return "" // a purge may mend it
	case f.Severity < model.Loses:
		return "the framework " + goesOn
	}
	return c.stays
}

// remedied is a fault with the commands that mend faults of its session, or with the reason why it stays.
type remedied struct {
	model.Fault
	Next  []string `json:"next,omitempty"`
	Stays string   `json:"stays,omitempty"`
	// SDK is the version for which the store was opened, "" for any.
	SDK string `json:"sdk,omitempty"`
	// Store is the address of the store, "" where one is looked at.
	Store string `json:"store,omitempty"`
}

// faultsOf returns all faults that were found, never nil, with the version of the SDK
// for which they hold.
func faultsOf(list []checkup, release string) []remedied {
	faults := []remedied{}
	for _, c := range list {
		for _, f := range c.faults {
			faults = append(faults, remedied{f, c.next, c.whyStays(&f), release, ""})
		}
	}
	return faults
}

// harmError returns errFaults where one of the faults is more than a note.
func harmError(list []remedied) error {
	if slices.ContainsFunc(list, func(f remedied) bool { return f.Severity > model.Note }) {
		return errFaults
	}
	return nil
}

// FaultSession is the fault of a session that could not be looked at.
const FaultSession = "unreadable-session"

// runCheckups looks at one session, or at the store and all of its sessions, at several at
// once. Of all sessions, one that cannot be looked at is a fault, and so is a list that cannot be
// read of a store that has a fault, which tells more.
func runCheckups(ctx context.Context, s store.Store, session *model.SessionInfo) ([]checkup, error) {
	faults, err := s.Faults(ctx, session.ID)
	if err != nil {
		return nil, err
	}
	list := []checkup{{of: session.ID, info: *session, faults: faults}}
	if session.ID != "" {
		return list, nil
	}
	for info, err := range s.Sessions(ctx) {
		if err != nil {
			if len(faults) == 0 {
				return nil, err
			}
			list[0].faults = append(list[0].faults, model.Fault{Code: FaultSession, Severity: model.Stops, Meaning: err.Error()})
			break
		}
		list = append(list, checkup{of: info.ID, info: info})
	}
	err = store.RunParallel(ctx, runtime.GOMAXPROCS(0), len(list)-1, func(i int) { list[1+i].checkSession(ctx, s) })
	for i := range list[1:] { // what is wrong with the store is told once
		c := &list[1+i]
		c.faults = slices.DeleteFunc(c.faults, func(f model.Fault) bool { return slices.Contains(faults, f) })
	}
	return list, err
}

// checkSession looks at the session.
func (c *checkup) checkSession(ctx context.Context, s store.Store) {
	var err error
	if c.faults, err = s.Faults(ctx, c.of); err != nil {
		c.faults = []model.Fault{{Code: FaultSession, Severity: model.Stops, File: c.of, Meaning: err.Error()}}
	}
}

// writeIdentity says as what a store was recognised and why, and where it is unless it
// was named itself.
func (p *printer) writeIdentity(id *store.Identity, of *subject) {
	switch {
	case of.home.CountStores() > 1:
		fmt.Fprintln(p, p.paint.in(bold, p.linkPath(id.At, id.At)))
	case isDirectory(of.address) && survey.ResolvePath(of.address) != survey.ResolvePath(id.At):
		fmt.Fprintf(p, "%s, the only store in %s\n", p.linkPath(id.At, id.At), printable.String(of.address))
	}
	p.writeSentence("", fmt.Sprintf("recognised as %s: %s", id.Name, id.Why))
}

// writeRelease says for which version of an SDK a store was opened, if for one.
func (p *printer) writeRelease(release string) {
	if release != "" {
		p.writeSentence("", fmt.Sprintf("opened for %s; --sdk any shows all versions", printable.String(release)))
	}
}

// writeOthers prints the stores of other kinds in a directory that is a store, or directly in it. A person who
// looks for them would not think of the store that they are in.
func (a *App) writeOthers(ctx context.Context, p *printer, o *store.Identity) error {
	if !isDirectory(o.At) {
		return nil
	}
	for f, err := range survey.Folder(ctx, a.Kinds, o.At) {
		if err != nil {
			return err
		}
		if f.Kind == "" || f.Kind == o.Name && f.Path == o.At {
			continue
		}
		p.writeSentence("", fmt.Sprintf("in it is also %s:%s: %s", f.Kind, f.Path, f.Why))
	}
	return nil
}

// writeCheckups writes the faults below the session that they are in. at is where the store is.
func (p *printer) writeCheckups(list []checkup, framework, at string) {
	faults, ill, idle := 0, 0, 0
	for _, c := range list {
		if len(c.faults) == 0 {
			continue
		}
		harmful := len(model.Harmful(c.faults))
		faults += harmful
		name := "the store itself"
		if c.of != "" {
			if harmful > 0 {
				ill++
			}
			name = p.fitName(printable.String(c.of), max(p.width/3, leastFit))
		}
		var counts []string
		if harmful > 0 {
			counts = append(counts, model.Count(harmful, "fault"))
		}
		if notes := len(c.faults) - harmful; notes > 0 {
			counts = append(counts, model.Count(notes, "note"))
		}
		fmt.Fprintf(p, "\n%s  %s\n", p.paint.in(bold, name), strings.Join(counts, ", "))
		costs := false
		for i := range c.faults {
			f := &c.faults[i]
			p.writeFault(f, framework, at)
			switch stays := c.whyStays(f) != ""; {
			case stays && f.Severity < model.Loses:
				idle++
			case stays:
				costs = true
			}
		}
		for _, command := range c.next {
			fmt.Fprintf(p, "  next: %s\n", command) // whole, so that it can be copied
		}
		if costs {
			p.writeSentence("  ", "stays: "+c.stays)
		}
	}
	switch {
	case faults == 0:
		p.WriteString("no faults\n")
	case len(list) > 1:
		fmt.Fprintf(p, "\n%s, in %d of %s\n", model.Count(faults, "fault"), ill, model.Count(len(list)-1, "session"))
	}
	if idle > 0 { // said once, as it is so for many
		p.writeSentence("", fmt.Sprintf("no command mends %s: %s %s", model.Count(idle, "fault"), frameworkName(framework), goesOn))
	}
}

// writeFault writes one fault: its code, where it is, what it means, and what the
// framework makes of it. at is where the store is.
func (p *printer) writeFault(f *model.Fault, framework, at string) {
	if f.Severity == model.Note {
		fmt.Fprintf(p, "  note %s\n", strings.TrimPrefix(printable.String(f.File)+": "+printable.String(f.Meaning), ": "))
		return
	}
	fmt.Fprintf(p, "  %s\n", p.paint.in(yellow, printable.String(f.Code)))
	if f.File != "" {
		where := p.linkFile(at, f.File)
		if f.Path != "" {
			where += " at " + printable.String(f.Path)
		}
		fmt.Fprintf(p, "    %s\n", where) // whole, so that it can be copied
	}
	p.writeSentence("    ", f.Meaning)
	if f.Verdict != "" {
		p.writeSentence("    ", labelVerdict(f.Verdict, framework))
	}
}

// linkFile returns how a file of a store is shown: as a link where it is there, and not a row of the store.
func (p *printer) linkFile(at, file string) string {
	path := filepath.Join(at, filepath.FromSlash(file))
	if _, err := os.Lstat(path); !p.links || !filepath.IsLocal(file) || err != nil {
		return printable.String(file)
	}
	return p.linkPath(path, file)
}

// labelVerdict puts the name of the framework before its verdict, once.
func labelVerdict(verdict, framework string) string {
	if framework != "" && strings.HasPrefix(verdict, framework) {
		return verdict
	}
	return frameworkName(framework) + ": " + verdict
}

// frameworkName names the framework.
func frameworkName(framework string) string { return cmp.Or(framework, "the framework") }
