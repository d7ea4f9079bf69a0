/** Figures as a person reads them, in the spelling of the Python package. */

/**
 * A number in so many digits, as `g` writes it in Python and C.
 *
 * @param {number} number
 */
export function general(number, digits = 6) {
  const [mantissa, power] = number.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < digits) return short(number.toFixed(digits - 1 - exponent));
  const sign = exponent < 0 ? "-" : "+";
  return `${short(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** @param {string} text */
function short(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/**
 * An upper bound, rounded up to so many digits, so that what is shown holds too.
 *
 * @param {number} bound
 */
export function shareAtMost(bound, digits = 2) {
  const [mantissa, power] = bound.toExponential().split("e");
  const figures = mantissa.replace(".", "");
  // a number that so many digits write exactly is not rounded to the next one
  const leading = Number(figures.slice(0, digits).padEnd(digits, "0")) + (figures.length > digits ? 1 : 0);
  return general(Number(`${leading}e${Number(power) - digits + 1}`), digits);
}
