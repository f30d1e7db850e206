import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import type { Page } from 'playwright-core'

/** What axe-core finds wrong on a page. */
export async function axeViolations(page: Page): Promise<readonly unknown[]> {
  // Evaluated by the debugger, so that the page's policy need not allow it.
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'))
  return page.evaluate(violations)
}

/** Runs in the page. */
async function violations(): Promise<unknown[]> {
  const { axe: checker } = globalThis as unknown as {
    axe: { run: () => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
  }
  const result = await checker.run()
  return result.violations.map(({ id, nodes }) => ({ id, at: nodes.map(({ html }) => html) }))
}
