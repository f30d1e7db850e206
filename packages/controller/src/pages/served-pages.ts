import type { KubernetesApi } from '@osm-ts/kubernetes'
import { listen, type ListenAddress, pagesLimits } from '@osm-ts/program'
import { untilAborted } from '@osm-ts/driver-api/toolkit'

import type { Attachment } from '../options.js'
import { PagesAccess } from './pages-access.js'
import { pagesServer } from './pages-server.js'

/** Where and to whom pages are served. */
export interface ServedPagesOptions {
  readonly api: Pick<KubernetesApi, 'post'>
  readonly address: ListenAddress
  /** Service account of osm-dashboard, in the namespace of the control plane; its Service has the same name. */
  readonly serviceAccount: string
  readonly now: () => number
}

/** The server that osm-dashboard reads, as a part of a controller. */
export function servedPages({ api, address, serviceAccount, now }: ServedPagesOptions): Attachment {
  return async ({ meshName, osmNamespace, domains, certificates, pages, loop, metrics, signal, ...parts }) => {
    const logger = parts.logger.child('pages')
    const host = `${serviceAccount}.${osmNamespace}`
    const { app, follow } = await pagesServer({
      access: new PagesAccess({
        api,
        meshName,
        osmNamespace,
        serviceAccount,
        monotonic: () => performance.now(),
      }),
      pages,
      loop,
      certificates,
      domains,
      dashboardNames: [host, `${host}.svc`, `${host}.svc.${domains.clusterDomain}`],
      logger,
      now,
    })
    await listen(app, address, { name: 'pages', limits: pagesLimits, metrics, logger })
    const closed = untilAborted(signal).then(() => app.close())
    return {
      ready: async () => true,
      stopped: Promise.all([follow(signal), closed]).then(() => undefined),
    }
  }
}
