package disk

import "errors"

// Exchange implements Disk.
func (d *OS) Exchange(a, b string) error { return errors.ErrUnsupported }
