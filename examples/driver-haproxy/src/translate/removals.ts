import { quoted } from './words.js'

/** Lines that remove the request headers whose whole name matches one of the expressions. */
export function removals(expressions: readonly string[]): readonly string[] {
  return expressions.map((expression) => `http-request del-header ${quoted(`^${expression}$`)} -m reg`)
}
