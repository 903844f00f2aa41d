package tui

import (
	"context"
	"fmt"
	"os/exec"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/look"
	"hindcast/store/media/scratch"
)

// album holds the pictures that the system's viewer shows, in a folder that only the person can read, until the
// screen ends. It is safe for concurrent use.
type album struct {
	mu    sync.Mutex
	dir   *scratch.Folder
	count int
	ended bool
}

// openPicture shows the picture under the cursor of the Messages tab in the viewer of the system. On any
// other block the key goes to the session of a sub-agent, as in other panes.
func (m *Model) openPicture() tea.Cmd {
	t := m.tabs[tabOf(keymap.ShowMessages)]
	pane, has := t.pane.(pictured)
	if !has || t.content == nil {
		return m.crossSessions()
	}
	format, picture := pane.Picture()
	if format == "" {
		return m.crossSessions()
	}
	pictures, temp := m.pictures, m.o.Temp
	return m.start(viewing, "opening the picture", func(context.Context, *progress) fact {
		err := pictures.showPicture(temp, format, picture)
		return func() tea.Cmd {
			if err != nil {
				m.fail(err)
				return nil
			}
			m.say("the picture is open in another window")
			return nil
		}
	})
}

// pictured is a tab with a cursor that may stand on a picture.
type pictured interface {
	Picture() (format string, picture []byte)
}

// showPicture writes a picture to a file in a folder below temp, and starts the viewer.
func (a *album) showPicture(temp, format string, picture []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return context.Canceled
	}
	if a.dir == nil {
		dir, err := scratch.Make(temp)
		if err != nil {
			return fmt.Errorf("make a folder for the picture: %w", err)
		}
		a.dir = dir
	}
	a.count++
	file, err := a.dir.Write(fmt.Sprintf("picture-%d.%s", a.count, format), picture)
	if err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	program, args := look.Viewer(file)
	viewer := exec.Command(program, args...)
	if err := viewer.Start(); err != nil {
		return fmt.Errorf("start the viewer: %w", err)
	}
	go func() { _ = viewer.Wait() }() // it may stay as long as its window
	return nil
}

// removeAll deletes the pictures.
func (a *album) removeAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended = true; a.dir != nil {
		_ = a.dir.Remove() // the next screen removes what is left
		a.dir = nil
	}
}
