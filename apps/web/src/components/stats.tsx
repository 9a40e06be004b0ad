// A row of figures with their names.

export interface Stat {
  name: string;
  value: string;
}

export function Stats({ stats }: { stats: Stat[] }) {
  return (
    <dl class="stats">
      {stats.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
