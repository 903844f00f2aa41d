// Package value draws a JSON value in one row, for all tabs. (In the making by the engineer of the
// tabs: do not write this package, use it.)
package value
