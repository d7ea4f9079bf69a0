// Makes elements of the page.

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} kind
 * @param {Record<string, unknown>} properties
 * @returns {HTMLElementTagNameMap[K]}
 */
export function element(kind, { role, ...properties }) {
  const made = Object.assign(document.createElement(kind), properties);
  if (role) made.setAttribute("role", String(role));
  return made;
}
