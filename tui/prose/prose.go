// Package prose wraps long strings of a state a page at a time, for all tabs. (In the making by the engineer of the
// tabs: do not write this package, use it.)
package prose
