package tree

import (
	"hindcast/model"
	"hindcast/store/media/journal"
)

// Draft begins a write of steps.
func Draft(j *journal.Journal, steps Steps) *journal.Draft {
	d := j.Draft()
	for _, s := range steps {
		switch {
		case s.Aside:
			d.SetAside(s.Name)
		case s.Version.Folder:
			d.MakeFolder(s.Name)
		case s.From != "":
			d.Copy(s.Name, s.From)
		case !s.Version.None():
			d.PutBack(s.Name, s.Version)
		default:
			d.PutAs(s.Name, s.Data, s.Mode)
		}
	}
	return d
}

// Back returns the steps that lay over a tree what an entry is taken back to, or done again to.
func Back(e *journal.Entry, op model.Op) Steps {
	changes := e.Changes()
	steps := make(Steps, 0, len(changes))
	for _, c := range changes {
		then := c.After
		if op == model.OpUndo {
			then = c.Before
		}
		steps = append(steps, Step{Name: c.Path, Version: then, Aside: then.None()})
	}
	return steps
}
