import { fileURLToPath } from 'node:url'

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { DashboardBehindLogin } from '@osm-ts/cli/testing'
import type { Browser, BrowserContext, Page } from 'playwright-core'

import { axeViolations } from './support/axe.js'
import { launchChromium } from './support/launch-chromium.js'
import { RunningDashboard } from './support/running-dashboard.js'

const programFolder = fileURLToPath(new URL('../../packages/cli/dist', import.meta.url))
/** No load may reach it. */
const WAIT_MS = 120_000
const COOKIE = '__Host-osm-dashboard'

describe('the login form of the deployment osm-dashboard, in a browser', () => {
  let mesh: RunningDashboard
  let dashboard: DashboardBehindLogin
  let browser: Browser
  let context: BrowserContext
  let isWithdrawn = false
  /** What no page may say: errors, warnings, and requests that other hosts got. */
  const faults: string[] = []

  beforeAll(async () => {
    mesh = await RunningDashboard.start()
    dashboard = await DashboardBehindLogin.start({
      state: mesh.state,
      programFolder,
      review: (token) => {
        if (token === 'reader' && !isWithdrawn) return 'permitted'
        return token === 'stranger' ? 'forbidden' : 'unknown'
      },
    })
    browser = await launchChromium()
  })
  afterAll(async () => {
    await browser.close()
    await dashboard.stop()
    await mesh.stop()
  })
  afterEach(() => context.close())

  /** Opens the page without a token, which ends at the form. */
  async function openForm(colorScheme: 'light' | 'dark' = 'light', width = 1200): Promise<Page> {
    // Browsers do not know the root of the control plane.
    context = await browser.newContext({ colorScheme, ignoreHTTPSErrors: true, viewport: { width, height: 700 } })
    const page = await context.newPage()
    page.setDefaultTimeout(WAIT_MS)
    page.on('console', (message) => faults.push(`${message.type()}: ${message.text()}`))
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('request', (sent) => {
      if (!sent.url().startsWith(dashboard.url)) faults.push(`asks ${sent.url()}`)
    })
    await page.goto(dashboard.url)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    return page
  }

  /** Types into what has the focus, once it has it: browsers move the focus with a frame, often after `load`. */
  async function typeToken(page: Page, token: string): Promise<void> {
    await page.locator('#token:focus').waitFor()
    await page.keyboard.type(token)
    await page.keyboard.press('Enter')
  }

  it('is what a browser without a token gets, with the command that makes one', async () => {
    const page = await openForm()
    expect(page.url()).toBe(`${dashboard.url}login`)
    expect(await page.getByRole('main').textContent()).toContain('--audience osm-dashboard')
    expect(await page.getByRole('alert').count()).toBe(0)
  })

  it('has the focus in its field at once, and shows the page after the token and Enter', async () => {
    const page = await openForm()
    await typeToken(page, 'reader')
    await page.getByRole('button', { name: 'bookthief bookthief · envoy, workload' }).waitFor()
    expect(page.url()).toBe(dashboard.url)
    expect(await context.cookies()).toEqual([
      expect.objectContaining({
        name: COOKIE,
        httpOnly: true,
        secure: true,
        sameSite: 'Strict',
        path: '/',
        expires: -1,
      }),
    ])
    expect(await page.evaluate('document.cookie')).toBe('')
  })

  it('is left by Tab through its buttons, in the order in which they are shown', async () => {
    const page = await openForm()
    await page.locator('#token:focus').waitFor()
    const reached: unknown[] = []
    for (let press = 0; press < 2; press += 1) {
      await page.keyboard.press('Tab')
      reached.push(await page.evaluate('document.activeElement.textContent'))
    }
    expect(reached).toEqual(['Sign in', 'Sign out'])
    // What has the focus can be seen to have it.
    expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
  })

  it.each([
    ['wrong', 'The API server does not accept this token for the page.'],
    ['stranger', 'The account of this token may not see the page.'],
  ])('says why it refuses the token "%s", keeps nothing of it, and takes another', async (token, text) => {
    const page = await openForm()
    await typeToken(page, token)
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('alert').textContent()).toBe(text)
    const field = page.getByLabel('Token of a service account')
    expect(await field.inputValue()).toBe('')
    expect(await field.getAttribute('aria-describedby')).toBe(await page.getByRole('alert').getAttribute('id'))
    expect(page.url()).not.toContain(token)
    expect(await context.cookies()).toEqual([])
    // Loading the form again sends no token again.
    await page.reload()
    await typeToken(page, 'reader')
    await page.getByText(/Problems \(\d+\)/).waitFor()
  })

  it('signs out', async () => {
    const page = await openForm()
    await typeToken(page, 'reader')
    await page.getByText(/Problems \(\d+\)/).waitFor()
    await page.goto(`${dashboard.url}login`)
    await page.getByRole('button', { name: 'Sign out' }).press('Enter')
    await page.waitForURL(`${dashboard.url}login`)
    await page.goto(dashboard.url)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await context.cookies()).toEqual([])
  })

  it('is shown again to a reader whose right was withdrawn', async () => {
    const page = await openForm()
    await typeToken(page, 'reader')
    await page.getByText(/Problems \(\d+\)/).waitFor()
    isWithdrawn = true
    dashboard.forgetReviews()
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    isWithdrawn = false
    dashboard.forgetReviews()
  })

  it.each(['light', 'dark'] as const)('has no fault that axe-core finds, in %s colours', async (colorScheme) => {
    const page = await openForm(colorScheme)
    expect(await page.evaluate(`matchMedia('(prefers-color-scheme: ${colorScheme})').matches`)).toBe(true)
    const found = [...(await axeViolations(page))]
    await typeToken(page, 'wrong')
    await page.getByRole('alert').waitFor()
    found.push(...(await axeViolations(page)))
    expect(found).toEqual([])
  })

  it('fits a window of 320 pixels', async () => {
    const page = await openForm('light', 320)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
  })

  it('sent no request elsewhere and no message to the console in any test', () => {
    expect(faults).toEqual([])
  })
})
