package agent

import "context"

// inputs passes the inputs of a client to the agent function, one at a time. It
// counts the inputs that the function has taken, since taking one begins a turn.
type inputs[In any] struct {
	sent    chan input[In]
	closing chan struct{}
	// returned is closed when the agent function has returned.
	returned chan struct{}

	// count gives how many inputs the function has taken, while handing on
	// lasts; when done is closed, that is in taken.
	count chan int
	done  chan struct{}
	taken int
	// took is called whenever the function has taken one.
	took func()
	// cut is the error of the context, if the context ended the handing on.
	cut error
}

// input is an input on its way; taken is closed when the function has it.
type input[In any] struct {
	value In
	taken chan struct{}
}

func newInputs[In any](took func()) *inputs[In] {
	return &inputs[In]{
		sent: make(chan input[In]), closing: make(chan struct{}), returned: make(chan struct{}),
		count: make(chan int), done: make(chan struct{}), took: took,
	}
}

// handOn hands inputs on until there are no more, the function has returned, or
// ctx ends; then it closes to.
func (p *inputs[In]) handOn(ctx context.Context, to chan<- In) {
	defer close(p.done)
	defer close(to)
	for {
		select {
		case in := <-p.sent:
			if !p.offerInput(ctx, in, to) {
				return
			}
		case p.count <- p.taken:
		case <-p.closing:
			return
		case <-p.returned:
			return
		case <-ctx.Done():
			p.cut = ctx.Err()
			return
		}
	}
}

// offerInput waits until the function takes an input; it reports whether it did.
func (p *inputs[In]) offerInput(ctx context.Context, in input[In], to chan<- In) bool {
	for {
		select {
		case to <- in.value:
			p.taken++
			p.took()
			close(in.taken)
			return true
		case p.count <- p.taken:
		case <-p.returned:
			return false
		case <-ctx.Done():
			p.cut = ctx.Err()
			return false
		}
	}
}

// sendInput hands the function an input and waits until it has taken it. The errors
// are ErrClosed, ErrEnded and that of ctx.
func (p *inputs[In]) sendInput(ctx context.Context, value In) error {
	in := input[In]{value, make(chan struct{})}
	if err := p.refusalError(ctx); err != nil {
		return err
	}
	select {
	case p.sent <- in:
	case <-p.closing:
		return ErrClosed
	case <-p.done:
		return p.refusalError(ctx)
	}
	select {
	case <-in.taken:
		return nil
	case <-p.done:
	}
	select {
	case <-in.taken:
		return nil
	default:
		return p.refusalError(ctx)
	}
}

// refusalError says why no input is taken any more, nil if it still is.
func (p *inputs[In]) refusalError(ctx context.Context) error {
	select {
	case <-p.returned:
		return ErrEnded
	default:
	}
	select {
	case <-p.closing:
		return ErrClosed
	default:
		return ctx.Err()
	}
}

// countTaken returns how many inputs the function has taken.
func (p *inputs[In]) countTaken() int {
	select {
	case n := <-p.count:
		return n
	case <-p.done:
		return p.taken
	}
}
