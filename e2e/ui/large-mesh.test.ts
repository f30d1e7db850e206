import { fileURLToPath } from 'node:url'

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'

import { LargeMesh } from './support/large-mesh.js'
import { launchChromium } from './support/launch-chromium.js'

const files = fileURLToPath(new URL('../../packages/cli/dist/dashboard-page', import.meta.url))
const WORKLOADS = 1000
const UPDATES = 5
/** No load may reach it. */
const WAIT_MS = 120_000

describe(`the dashboard of a mesh of ${WORKLOADS} workloads`, () => {
  let mesh: LargeMesh
  let browser: Browser

  beforeAll(async () => {
    mesh = await LargeMesh.serve(files, WORKLOADS)
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser.close()
    await mesh.stop()
  })

  async function open(view: string): Promise<Page> {
    const page = await browser.newPage({ viewport: { width: 1200, height: 700 } })
    page.setDefaultTimeout(WAIT_MS)
    await page.goto(`${mesh.url}#${view}`)
    return page
  }

  /** What is measured goes to the output, and not into an assertion: machines differ. */
  async function measure(page: Page, view: string, hasUpdate: (round: number) => Promise<void>): Promise<void> {
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable')
    const scriptMs = async (): Promise<number> => {
      const { metrics } = await session.send('Performance.getMetrics')
      return 1000 * (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? NaN)
    }
    const paintMs = await page.evaluate(
      () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
    )
    const updates: number[] = []
    for (let round = 1; round <= UPDATES; round += 1) {
      const before = await scriptMs()
      mesh.update(round)
      await hasUpdate(round)
      updates.push((await scriptMs()) - before)
    }
    updates.sort((one, other) => one - other)
    const median = updates[Math.floor(UPDATES / 2)] ?? NaN
    process.stderr.write(
      `dashboard, ${WORKLOADS} workloads, ${view}: first paint ${paintMs.toFixed(0)} ms, scripting of an update ${median.toFixed(0)} ms (median of ${UPDATES})\n`,
    )
    expect(updates.every((each) => each > 0)).toBe(true)
  }

  it('draws namespaces, and follows their traffic', async () => {
    const page = await open('topology')
    // Three calls of each workload to other namespaces, of 10, 11 and 12 requests per second.
    const row = (perSecond: number) =>
      page.getByRole('row', { name: new RegExp(`^namespace-0 may call namespace-1 .* ${perSecond}/s, 100 % success`) })
    await row(20 * 10).waitFor()
    await measure(page, 'topology', (round) => row(20 * (10 + round)).waitFor())
  })

  it('lists all proxies, and follows the report of one', async () => {
    const page = await open('proxies')
    await page.getByText(`${WORKLOADS} of ${WORKLOADS} proxies`).waitFor()
    await measure(page, 'proxies', (round) => page.getByText(`03:04:0${round}`).waitFor())
  })
})
