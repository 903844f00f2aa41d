package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hindcast/model"
	"hindcast/model/printable"
	"hindcast/store"
	"hindcast/store/survey"
)

// surveyJSON is `doctor --json` of a directory that is no store.
type surveyJSON struct {
	Stores     []storeJSON  `json:"stores"`
	PassedOver []passedJSON `json:"passedOver"`
	// Faults are the faults of the only store; nil unless there is exactly one.
	Faults []remedied `json:"faults,omitzero"`
}

type storeJSON struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	Why  string `json:"why"`
}

type passedJSON struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// surveyFolder lists the stores below a directory that is no store itself, and the files that were passed over; secrets is as for
// doctorOf. If
// there is only one store, survey examines it too.
func (a *App) surveyFolder(ctx context.Context, p *printer, dir string, secrets bool) error {
	all := surveyJSON{Stores: []storeJSON{}, PassedOver: []passedJSON{}}
	var only store.Identity
	for f, err := range survey.Folder(ctx, a.Kinds, dir) {
		switch {
		case err != nil:
			return err
		case f.Kind == "":
			all.PassedOver = append(all.PassedOver, passedJSON{f.Path, f.Why})
		case f.Behind != "":
			all.Stores = append(all.Stores, storeJSON{f.Path, f.Kind, f.Why + "; " + f.Behind + " is asked first, and opens it: " + f.Kind + ":" + f.Path + " opens this"})
		default:
			all.Stores = append(all.Stores, storeJSON{f.Path, f.Kind, f.Why})
			only.Kind, _ = a.Kinds.FindKind(f.Kind)
			only.At = f.Path
		}
	}
	var list []checkup
	var release string
	var failed error
	switch len(all.Stores) {
	case 0:
		failed = &advisedError{fmt.Errorf("doctor %q: %w, nor is anything below it", dir, store.ErrUnrecognised), ""}
	case 1:
		var s store.Store
		if s, failed = only.Open(ctx); failed != nil {
			break
		}
		defer s.Close()
		var seen examined
		if seen, failed = a.examineStore(ctx, &only, s, new(model.SessionInfo), only.At, secrets); failed == nil {
			list, release = seen.list, seen.release
			all.Faults = faultsOf(list, release)
		}
	}
	if p.json {
		if err := p.writeDocument(all); err != nil {
			return err
		}
	} else {
		p.writeSurvey(dir, all)
		if patterns := a.filePatterns(); len(patterns) > 0 {
			p.writeSentence("", "Of the files only those named "+strings.Join(patterns, ", ")+" are looked into.")
		}
		if len(all.Stores) == 0 {
			p.writeSentence("", "Any other JSON is read by a map: --map KEY=PATH,... (hindcast help import).")
		}
		if all.Faults != nil {
			p.writeRelease(release)
			p.writeCheckups(list, only.Framework, only.At)
		}
	}
	if failed == nil {
		failed = harmError(all.Faults)
	}
	return failed
}

// writeSurvey writes what was found in a directory: the stores, then the reasons for
// which places were passed over.
func (p *printer) writeSurvey(dir string, all surveyJSON) {
	fmt.Fprintf(p, "%s is no store; below it %s\n", printable.String(dir), isAre(len(all.Stores), "store"))
	for _, s := range all.Stores {
		fmt.Fprintf(p, "  %s  %s\n", p.paint.in(bold, s.Kind), printable.String(s.Path))
		p.writeSentence("    ", s.Why)
	}
	var passed reasons
	for _, f := range all.PassedOver {
		passed.addReason(f.Why, 1, f.Path)
	}
	for i, of := range passed.list {
		if i == 0 {
			p.WriteString("passed over\n")
		}
		p.writeSentence("  ", of.why)
		for _, path := range of.some {
			fmt.Fprintf(p, "    %s\n", printable.String(path))
		}
		if more := of.count - len(of.some); more > 0 {
			fmt.Fprintf(p, "    and %d more\n", more)
		}
	}
	if len(all.Stores) > 1 {
		fmt.Fprintf(p, "next: hindcast doctor %s\n", printable.String(all.Stores[0].Path))
	}
}

// isAre returns a count with its verb: "is 1 store", "are 2 stores".
func isAre(n int, noun string) string {
	switch n {
	case 0:
		return "is none"
	case 1:
		return "is " + model.Count(n, noun)
	}
	return "are " + model.Count(n, noun)
}

// filePatterns returns the names of the files that a survey looks into.
func (a *App) filePatterns() (list []string) {
	for _, k := range a.Kinds {
		for _, pattern := range k.Files {
			if !slices.Contains(list, pattern) {
				list = append(list, pattern)
			}
		}
	}
	return list
}
