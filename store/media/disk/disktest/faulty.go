package disktest

import (
	"errors"
	"io/fs"
	"sync/atomic"

	"hindcast/store/media/disk"
)

// Call is one call of a disk, or a moment within one.
type Call struct {
	// N counts the calls, from 0.
	N int
	// Op is the name of the method in lower case, and of a moment within it what
	// has just happened: "append torn" is when half of the bytes are there, "append
	// sync" when all are and nothing is durable. So it is with "create".
	Op string
	// Name is the name that it is about, the first of two.
	Name string
}

// Writes reports whether the call may change what is on the disk.
func (c Call) Writes() bool {
	switch c.Op {
	case "lstat", "names", "load":
		return false
	}
	return true
}

// Faulty is a Disk that asks before every call whether it is to fail. It may be used
// by several goroutines if Hook may.
type Faulty struct {
	disk.Disk
	// Hook is called before every call and at the moments within one. An error that
	// it gives is that of the call, and the call does nothing more. It may also end
	// the process.
	Hook func(Call) error
	n    atomic.Int64
}

// Calls returns how many calls there were.
func (f *Faulty) Calls() int { return int(f.n.Load()) }

func (f *Faulty) ask(op, name string) error {
	return f.Hook(Call{int(f.n.Add(1)) - 1, op, name})
}

// Lstat implements disk.Disk.
func (f *Faulty) Lstat(name string) (fs.FileInfo, error) {
	if err := f.ask("lstat", name); err != nil {
		return nil, err
	}
	return f.Disk.Lstat(name)
}

// Names implements disk.Disk.
func (f *Faulty) Names(dir string) ([]string, error) {
	if err := f.ask("names", dir); err != nil {
		return nil, err
	}
	return f.Disk.Names(dir)
}

// Read implements disk.Disk.
func (f *Faulty) Read(name string) ([]byte, error) {
	data, _, err := f.Load(name, nil)
	return data, err
}

// Load implements disk.Disk.
func (f *Faulty) Load(name string, buf []byte) ([]byte, fs.FileInfo, error) {
	if err := f.ask("load", name); err != nil {
		return buf[:0], nil, err
	}
	return f.Disk.Load(name, buf)
}

// Create implements disk.Disk. What is torn or not durable is removed again.
func (f *Faulty) Create(name string, data []byte, mode fs.FileMode) error {
	if err := f.ask("create", name); err != nil {
		return err
	}
	if half := data[:len(data)/2]; len(half) > 0 {
		if err := f.Disk.Create(name, half, mode|0o200); err != nil {
			return err
		}
		err := f.ask("create torn", name)
		if failed := f.Disk.Remove(name); err != nil || failed != nil {
			return errors.Join(err, failed)
		}
	}
	if err := f.Disk.Create(name, data, mode); err != nil {
		return err
	}
	if err := f.ask("create sync", name); err != nil {
		return errors.Join(err, f.Disk.Remove(name))
	}
	return nil
}

// Append implements disk.Disk. What is torn or not durable stays.
func (f *Faulty) Append(name string, data []byte) error {
	if err := f.ask("append", name); err != nil {
		return err
	}
	half := len(data) / 2
	if err := f.Disk.Append(name, data[:half]); err != nil {
		return err
	}
	if err := f.ask("append torn", name); err != nil {
		return err
	}
	if err := f.Disk.Append(name, data[half:]); err != nil {
		return err
	}
	return f.ask("append sync", name)
}

// Copy implements disk.Disk. What is torn stays when the process ends there.
func (f *Faulty) Copy(old, new string, mode fs.FileMode) error {
	if err := f.ask("copy", old); err != nil {
		return err
	}
	if data, err := f.Disk.Read(old); err == nil && len(data) > 1 {
		if err := f.Disk.Create(new, data[:len(data)/2], mode|0o200); err != nil {
			return err
		}
		err := f.ask("copy torn", old)
		if failed := f.Disk.Remove(new); err != nil || failed != nil {
			return errors.Join(err, failed)
		}
	}
	return f.Disk.Copy(old, new, mode)
}

// Flush implements disk.Disk.
func (f *Faulty) Flush(names []string) error {
	for _, name := range names {
		if err := f.Sync(name); err != nil {
			return err
		}
	}
	return nil
}

// Rename implements disk.Disk.
func (f *Faulty) Rename(old, new string) error {
	if err := f.ask("rename", old); err != nil {
		return err
	}
	return f.Disk.Rename(old, new)
}

// Place implements disk.Disk.
func (f *Faulty) Place(old, new string) error {
	if err := f.ask("place", old); err != nil {
		return err
	}
	return f.Disk.Place(old, new)
}

// Exchange implements disk.Disk.
func (f *Faulty) Exchange(a, b string) error {
	if err := f.ask("exchange", a); err != nil {
		return err
	}
	return f.Disk.Exchange(a, b)
}

// Mkdir implements disk.Disk.
func (f *Faulty) Mkdir(name string, mode fs.FileMode) error {
	if err := f.ask("mkdir", name); err != nil {
		return err
	}
	return f.Disk.Mkdir(name, mode)
}

// Remove implements disk.Disk.
func (f *Faulty) Remove(name string) error {
	if err := f.ask("remove", name); err != nil {
		return err
	}
	return f.Disk.Remove(name)
}

// Sync implements disk.Disk.
func (f *Faulty) Sync(name string) error {
	if err := f.ask("sync", name); err != nil {
		return err
	}
	return f.Disk.Sync(name)
}

// Lock implements disk.Disk.
func (f *Faulty) Lock(name string) (func() error, error) {
	if err := f.ask("lock", name); err != nil {
		return nil, err
	}
	return f.Disk.Lock(name)
}
