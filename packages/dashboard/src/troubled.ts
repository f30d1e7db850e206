import type { ShownProxy } from './api.js'

/** True if something is wrong with a proxy, or not finished. */
export function isTroubled({ connected, state, rejected, denied, conditions }: ShownProxy): boolean {
  return !connected || state !== 'applied' || rejected.length + denied.length + conditions.length > 0
}
