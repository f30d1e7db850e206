/**
 * The anchor of a heading, as GitHub makes it. A second heading with the same text gets `-1` in addition.
 * @param {string} text of the heading, without links
 */
export function headingSlug(text) {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-')
}
