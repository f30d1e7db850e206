/** Audience of the tokens by which osm-dashboard is known to the controllers of a mesh: no token that it has for another purpose is one. */
export function controllerPagesAudience(meshName: string): string {
  return `osm-controller-pages.${meshName}`
}

/** First label of the name of the server that osm-dashboard reads from. No proxy has such a name. */
export const PAGES_SERVER_NAME = 'osm-pages'

/** Where osm-dashboard has its certificate signed. */
export const DASHBOARD_CERTIFICATE_PATH = '/v1/dashboard-certificate'

/** Debug pages that osm-dashboard may read. Others may hold what is for administrators of the control plane alone. */
export const dashboardPages = [
  '/debug/status',
  '/debug/participants',
  '/debug/policy',
  '/debug/problems',
  '/debug/pushes',
  '/debug/certs',
] as const
