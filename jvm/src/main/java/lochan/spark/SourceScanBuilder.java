package lochan.spark;

import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/** What a query wants of a frame. Filters choose objects, and Spark tests every row all the same. */
final class SourceScanBuilder implements ScanBuilder, SupportsPushDownRequiredColumns, SupportsPushDownFilters {
  private final SourceTable table;
  private StructType columns;
  private Filter[] filters = new Filter[0];

  SourceScanBuilder(SourceTable table) {
    this.table = table;
    this.columns = table.schema();
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
    return new SourceScan(table, columns, filters);
  }
}
