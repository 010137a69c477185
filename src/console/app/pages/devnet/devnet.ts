/** The part of the bundle that steers a simulated chain. */
export { ContractCall } from './contract-call.tsx';
export { DevnetControls } from './devnet-page.tsx';
export { FailedCall } from './failed-call.tsx';
export { NewContract } from './new-contract.tsx';
export { PendingSteps } from './pending-steps.tsx';
