// The engine's protocol, from one place.
export type {
  BandSeries,
  CallName,
  Calls,
  ColumnInfo,
  DeepPartial,
  DownloadKind,
  Event,
  ForecastSettings,
  MetricRow,
  ModelKind,
  Progress,
  RunPlan,
  RunResult,
  RuntimeInfo,
  SavedRun,
  TableInfo,
} from 'tabgrad';
