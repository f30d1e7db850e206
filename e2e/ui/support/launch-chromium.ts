import { type Browser, chromium } from 'playwright-core'

/** Starts the browser that CHROMIUM_BIN names, else that on the PATH. It runs as root, and asks no resolver but that of the system. */
export async function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env['CHROMIUM_BIN'] ?? 'chromium',
    args: ['--no-sandbox', '--disable-features=AsyncDns'],
  })
}
