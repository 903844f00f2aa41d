package tui

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os/exec"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"hindcast/keymap"
	"hindcast/look"
	"hindcast/store/media/scratch"
	"hindcast/tui/kitty"
	"hindcast/tui/messagestab"
)

// album holds the pictures that the system's viewer shows, in a folder that only the person can read, and those
// that the terminal has, until the screen ends. It is safe for concurrent use.
type album struct {
	mu    sync.Mutex
	dir   *scratch.Folder
	count int
	ended bool
	// sent are the pictures that the terminal has by their bytes and the width that they were sent for, last the
	// number of the newest of them.
	sent map[sentPicture]kitty.Picture
	last uint8
}

type sentPicture struct {
	sum   [sha256.Size]byte
	width int
}

// drawPictures sends the pictures to the terminal that the Messages tab laid out, where the terminal draws pictures.
func (m *Model) drawPictures() tea.Cmd {
	if !m.styles.Pictures || m.place != inSession || m.tasks[drawing].running {
		return nil
	}
	pane := m.tabs[tabOf(keymap.ShowMessages)].pane.(*messagestab.Pane)
	undrawn := pane.TakeUndrawn()
	if len(undrawn) == 0 {
		return nil
	}
	pictures, send := m.pictures, m.send
	return m.start(drawing, "", func(ctx context.Context, _ *progress) fact {
		drawn := make([]kitty.Picture, len(undrawn))
		for i := range undrawn {
			if ctx.Err() == nil {
				drawn[i] = pictures.sendPicture(undrawn[i].Bytes(), undrawn[i].Width, send)
			}
		}
		return func() tea.Cmd {
			for i := range undrawn {
				pane.SetDrawn(&undrawn[i], drawn[i])
			}
			m.dirty = true
			return nil
		}
	})
}

// sendPicture sends a picture to the terminal, unless the terminal has it. For a picture that cannot be drawn it returns
// the zero picture, which leaves the label alone.
func (a *album) sendPicture(picture []byte, width int, send func(string)) kitty.Picture {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := sentPicture{sha256.Sum256(picture), width}
	if sent, has := a.sent[key]; has || a.ended {
		return sent
	}
	id := max(a.last+1, 1) // behind 255 comes 1, whose picture the new one replaces
	sent, text, err := kitty.EncodePicture(id, picture, width)
	if err != nil {
		return kitty.Picture{}
	}
	maps.DeleteFunc(a.sent, func(_ sentPicture, of kitty.Picture) bool { return of.ID == id })
	if a.last = id; a.sent == nil {
		a.sent = map[sentPicture]kitty.Picture{}
	}
	a.sent[key] = sent
	send(text)
	return sent
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

// removeAll deletes the pictures, and returns what has the terminal forget those that it has.
func (a *album) removeAll() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended = true; a.dir != nil {
		_ = a.dir.Remove() // the next screen removes what is left
		a.dir = nil
	}
	forget := ""
	for _, sent := range a.sent {
		forget += kitty.DeletePicture(sent.ID)
	}
	return forget
}
