/** How a switch is written in an annotation, in lower case: the words that OSM reads. */
export const switchWords: ReadonlyMap<string, boolean> = new Map([
  ['enabled', true],
  ['yes', true],
  ['true', true],
  ['disabled', false],
  ['no', false],
  ['false', false],
])
