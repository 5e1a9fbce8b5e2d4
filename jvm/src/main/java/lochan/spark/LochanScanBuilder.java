package lochan.spark;

import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.types.StructType;

/** What Spark wants of a table. Filters choose objects, and Spark tests every row all the same. */
final class LochanScanBuilder implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownFilters {
  private final Planner planner;
  private final String uri;
  private final StructType table;
  private StructType columns;
  private Filter[] filters = new Filter[0];

  LochanScanBuilder(Planner planner, String uri, StructType columns) {
    this.planner = planner;
    this.uri = uri;
    this.table = columns;
    this.columns = columns;
  }

  @Override
  public Filter[] pushFilters(Filter[] given) {
    filters = given;
    return given;
  }

  @Override
  public Filter[] pushedFilters() {
    return filters;
  }

  @Override
  public void pruneColumns(StructType required) {
    columns = required;
  }

  @Override
  public Scan build() {
    return new SizedScan(new LochanScan(planner, uri, table, columns, filters), filters);
  }
}
