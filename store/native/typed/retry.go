package typed

import (
	"context"
	"errors"

	"hindcast/model"
)

// Retry calls once, and again as long as its error is a [model.ConflictError]: another program wrote to the session, and once reads anew
// what that wrote. It returns the last error of once, or that of ctx.
func Retry(ctx context.Context, once func() error) error {
	for {
		if err := once(); !errors.As(err, new(*model.ConflictError)) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
